"""What callers may send to workflow memory, field by field."""

from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from meridian import jsontext
from meridian.errors import InvalidInput, PayloadTooLarge
from meridian.ingestion.event import EventBody
from meridian.inputs import validated
from meridian.memory.model import Address, Chosen
from meridian.memory.requests import AddressFields, ForgetBody, ListQuery, SubjectQuery, WriteBody

ITEM = {"scope": "workflow", "subjectKind": "patient", "subjectId": "p-1", "workflow": "alert", "key": "last"}
WRITER = {"workflow": "alert", "run": "e-1:alert", "node": "remember"}
WRITE = {**ITEM, "type": {"kind": "Decimal"}, "typeName": "Decimal", "value": 1, "writtenBy": WRITER}


def without(*names: str) -> dict[str, Any]:
    return {name: value for name, value in WRITE.items() if name not in names}


def nested(depth: int) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = [value]
    return value


@pytest.mark.parametrize(
    ("body", "pointers"),
    [
        ({**WRITE, "scope": "tenant"}, ["/scope"]),
        (without("scope"), ["/scope"]),
        (without("key"), ["/key"]),
        ({**WRITE, "key": ""}, ["/key"]),
        ({**WRITE, "key": "k" * 201}, ["/key"]),
        ({**WRITE, "key": 7}, ["/key"]),
        ({**WRITE, "key": "a\0b"}, ["/key"]),
        ({**WRITE, "key": "a\ud800"}, ["/key"]),
        (without("workflow"), ["/workflow"]),
        ({**WRITE, "workflow": ""}, ["/workflow"]),
        ({**WRITE, "workflow": "w" * 101}, ["/workflow"]),
        ({**WRITE, "workflow": "\0"}, ["/workflow"]),
        (without("subjectKind", "subjectId"), ["/subjectKind", "/subjectId"]),
        ({**WRITE, "subjectId": ""}, ["/subjectId"]),
        ({**WRITE, "subjectId": "p" * 257}, ["/subjectId"]),
        ({**WRITE, "subjectKind": "k" * 65}, ["/subjectKind"]),
        ({**WRITE, "subjectId": "\udfff"}, ["/subjectId"]),
        ({**WRITE, "subjectKind": "\0"}, ["/subjectKind"]),
        ({**WRITE, "scope": "subject"}, ["/workflow"]),
        ({**WRITE, "scope": "workflow-global"}, ["/subjectKind", "/subjectId"]),
        ({**without("subjectKind", "subjectId", "workflow"), "scope": "workflow-global"}, ["/workflow"]),
        (without("value"), ["/value"]),
        ({**WRITE, "value": Decimal("NaN")}, ["/value"]),
        ({**WRITE, "value": {"deep": [float("inf")]}}, ["/value"]),
        ({**WRITE, "value": {"deep": ["a\0"]}}, ["/value/deep/0"]),
        ({**WRITE, "value": ["\ud83d"]}, ["/value/0"]),
        ({**WRITE, "value": {"\udc00": 1}}, ["/value"]),
        (without("type"), ["/type"]),
        ({**WRITE, "type": {"a": "\0"}}, ["/type/a"]),
        ({**WRITE, "type": nested(65)}, ["/type"]),
        ({**WRITE, "type": [Decimal("1E+200000")]}, ["/type"]),
        ({**WRITE, "type": "t" * 16_384}, ["/type"]),
        (without("typeName"), ["/typeName"]),
        ({**WRITE, "typeName": ""}, ["/typeName"]),
        (without("writtenBy"), ["/writtenBy"]),
        ({**WRITE, "writtenBy": {**WRITER, "run": ""}}, ["/writtenBy/run"]),
        ({**WRITE, "writtenBy": {**WRITER, "node": None}}, ["/writtenBy/node"]),
        ({**WRITE, "writtenBy": {**WRITER, "extra": 1}}, ["/writtenBy/extra"]),
        ({**WRITE, "expectedVersion": -1}, ["/expectedVersion"]),
        ({**WRITE, "expectedVersion": "3"}, ["/expectedVersion"]),
        ({**WRITE, "expectedVersion": True}, ["/expectedVersion"]),
        ({**WRITE, "expectedVersion": Decimal("3.0")}, ["/expectedVersion"]),
        ({**WRITE, "expectedVersion": 2**63}, ["/expectedVersion"]),
        ({**WRITE, "retentionSeconds": 0}, ["/retentionSeconds"]),
        ({**WRITE, "retentionSeconds": 36_525 * 86_400 + 1}, ["/retentionSeconds"]),
        ({**WRITE, "colour": "red"}, ["/colour"]),
    ],
)
def test_a_field_that_is_not_allowed_is_named(body: dict[str, Any], pointers: list[str]) -> None:
    with pytest.raises(InvalidInput) as refused:
        validated(WriteBody, body, "body")
    assert [error.pointer for error in refused.value.errors] == pointers


@pytest.mark.parametrize(
    ("fields", "address"),
    [
        (ITEM, Address("patient", "p-1", "workflow", "alert", "last")),
        (
            {"scope": "subject", "subjectKind": "patient", "subjectId": "p-1", "key": "last"},
            Address("patient", "p-1", "subject", "", "last"),
        ),
        (
            {"scope": "workflow-global", "workflow": "alert", "key": "k"},
            Address("", "", "workflow-global", "alert", "k"),
        ),
        (
            {"scope": "workflow-global", "subjectKind": "", "subjectId": "", "workflow": "alert", "key": "k"},
            Address("", "", "workflow-global", "alert", "k"),
        ),
    ],
)
def test_an_address_has_the_parts_of_its_scope(fields: dict[str, Any], address: Address) -> None:
    assert validated(AddressFields, fields, "body").address == address
    assert validated(ForgetBody, fields, "body").address == address


def test_the_subjects_of_an_event_fit_into_an_address() -> None:
    native = {"type": "t", "subjects": {"k" * 64: "\U0001f9ec" * 256}}
    [(kind, subject_id)] = validated(EventBody, native, "body").subjects.items()
    assert validated(AddressFields, {**ITEM, "subjectKind": kind, "subjectId": subject_id}, "body")


def test_a_write_keeps_thirty_days_by_default_and_a_hundred_years_at_most() -> None:
    assert validated(WriteBody, WRITE, "body").write.retention == timedelta(days=30)
    longest = {**WRITE, "retentionSeconds": 36_525 * 86_400}
    assert validated(WriteBody, longest, "body").write.retention == timedelta(days=36_525)


def test_a_value_is_kept_digit_for_digit() -> None:
    body = jsontext.parse(jsontext.serialize(without("value"))[:-1] + ',"value":{"value":6.10,"é":[1E+3,null]}}')
    assert validated(WriteBody, body, "body").write.value == '{"value":6.10,"é":[1E+3,null]}'


@pytest.mark.parametrize("number", ["1e1001", "1e-1001", "1." + "9" * 1_001, "1." + "9" * 16_000 + "e-999"])
def test_a_type_holds_no_number_that_jsonb_does_not(number: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        validated(WriteBody, {**WRITE, "type": Decimal(number)}, "body")
    assert [error.pointer for error in refused.value.errors] == ["/type"]


def test_null_is_a_value() -> None:
    assert validated(WriteBody, {**WRITE, "value": None}, "body").write.value == "null"


@pytest.mark.parametrize("character", ["a", "é", "\U0001f9ec"])
def test_a_value_is_at_most_256_kib_of_utf8_as_stored(character: str) -> None:
    width = len(character.encode())
    room = (256 * 1024 - 2) // width  # two quotes
    fits = validated(WriteBody, {**WRITE, "value": character * room}, "body").write
    assert len(fits.value.encode()) > 256 * 1024 - width
    with pytest.raises(PayloadTooLarge):
        validated(WriteBody, {**WRITE, "value": character * (room + 1)}, "body")


@given(st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=200))
def test_any_other_text_is_a_key_and_a_subject(text: str) -> None:
    fields = validated(AddressFields, {**ITEM, "key": text, "subjectId": text}, "body")
    assert (fields.address.key, fields.address.subject_id) == (text, text)


@pytest.mark.parametrize(
    ("query", "chosen"),
    [
        ({"subjectKind": "patient", "subjectId": "p-1"}, Chosen("patient", "p-1")),
        (
            {"subjectKind": "patient", "subjectId": "p-1", "scope": "workflow", "workflow": "alert"},
            Chosen("patient", "p-1", "workflow", "alert"),
        ),
        ({"scope": "workflow-global"}, Chosen("", "", "workflow-global")),
        ({"scope": "workflow-global", "workflow": "alert"}, Chosen("", "", "workflow-global", "alert")),
    ],
)
def test_a_list_is_of_one_subject_or_of_no_subject(query: dict[str, str], chosen: Chosen) -> None:
    assert validated(ListQuery, query, "query").chosen == chosen


@pytest.mark.parametrize(
    ("query", "pointers"),
    [
        ({}, ["/subjectKind", "/subjectId"]),
        ({"subjectKind": "patient"}, ["/subjectId"]),
        ({"scope": "workflow-global", "subjectKind": "patient", "subjectId": "p"}, ["/subjectKind", "/subjectId"]),
        ({"scope": "subject", "subjectKind": "patient", "subjectId": "p", "workflow": "alert"}, ["/workflow"]),
        ({"scope": "workflow-global", "limit": "0"}, ["/limit"]),
        ({"scope": "workflow-global", "limit": "201"}, ["/limit"]),
        ({"scope": "workflow-global", "limit": "many"}, ["/limit"]),
        ({"scope": "workflow-global", "key": "k"}, ["/key"]),
    ],
)
def test_a_list_without_a_choice_is_refused(query: dict[str, str], pointers: list[str]) -> None:
    with pytest.raises(InvalidInput) as refused:
        validated(ListQuery, query, "query")
    assert [error.pointer for error in refused.value.errors] == pointers


@pytest.mark.parametrize("query", [{}, {"subjectKind": "patient"}, {"subjectKind": "", "subjectId": "p"}])
def test_all_of_a_subject_needs_a_whole_subject(query: dict[str, str]) -> None:
    with pytest.raises(InvalidInput):
        validated(SubjectQuery, query, "query")
