"""A definition as a value, and the hash that names it."""

from decimal import Decimal
from typing import Any

import pytest

from meridian.definitions.model import Definition, Entry, spec_hash
from meridian.jsontext import parse

DOCUMENT: dict[str, Any] = {
    "name": "Potassium alert",
    "entries": [
        {"id": "lab", "event": "observation.created", "selector": "event.data.code == 'K'", "start": "done"},
        {"id": "manual", "event": "alert.requested"},
    ],
    "start": "check",
    "nodes": [
        {"id": "check", "type": "set", "values": {"a": "event"}, "next": "done"},
        {"id": "done", "type": "end"},
    ],
}


def test_a_document_is_parsed_into_a_value() -> None:
    definition = Definition.parse(DOCUMENT)

    assert (definition.name, definition.description, definition.start) == ("Potassium alert", None, "check")
    assert definition.entries == (
        Entry("lab", "observation.created", "event.data.code == 'K'", "done"),
        Entry("manual", "alert.requested", None, "check"),
    )
    assert list(definition.nodes) == ["check", "done"]
    assert definition.nodes["done"] == {"id": "done", "type": "end"}
    assert definition.document is DOCUMENT


def test_the_hash_is_that_of_the_canonical_json() -> None:
    """The expected value is `printf '{"a":1,"b":"é"}' | sha256sum`."""
    canonical = "09ad9fd2fb648cb2f62141215828ea00a62c299db05d20aa9ade2f527a301cc6"
    assert spec_hash({"b": "é", "a": 1}) == canonical


@pytest.mark.parametrize("text", ['{"a": 1, "b": 2}', '{"b":2,"a":1}', '{"b":2.0,"a":1e0}'])
def test_order_and_spelling_make_no_difference(text: str) -> None:
    assert spec_hash(parse(text)) == spec_hash({"a": 1, "b": 2})


def test_a_change_makes_another_hash() -> None:
    assert spec_hash(DOCUMENT) != spec_hash({**DOCUMENT, "name": "Potassium alert 2"})


@pytest.mark.parametrize("value", [10**400, Decimal("1E+400"), Decimal("NaN"), "\ud800"])
def test_what_canonical_json_cannot_hold_is_refused(value: Any) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - rfc8785's own messages differ
        spec_hash({"a": value})
