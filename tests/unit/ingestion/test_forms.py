"""The forms of an event: native, CloudEvents structured and binary, and from the bus."""

from decimal import Decimal
from typing import Any, ClassVar

import pytest

from meridian import jsontext
from meridian.errors import InvalidInput, MalformedRequest, ProblemError, UnsupportedMediaType
from meridian.ingestion.event import Event
from meridian.ingestion.forms import from_event_bus, from_request

NATIVE: dict[str, Any] = {
    "eventId": "obs-7f3",
    "type": "observation.created",
    "source": "lab",
    "time": "2026-11-30T20:09:00Z",
    "subjects": {"patient": "p-42"},
    "data": {"code": "K", "value": Decimal("6.10")},
    "target": {"workflow": "potassium-alert", "version": 3, "trigger": "lab", "spec": None},
}
CLOUD_EVENT: dict[str, Any] = {
    "specversion": "1.0",
    "id": "obs-7f3",
    "type": "observation.created",
    "source": "lab",
    "time": "2026-11-30T20:09:00Z",
    "subject": "patient:p-42",
    "data": {"code": "K", "value": Decimal("6.10")},
}


def native(document: Any) -> Event:
    return from_request({"content-type": "application/json"}, jsontext.serialize(document).encode())


def structured(document: Any) -> Event:
    headers = {"content-type": "application/cloudevents+json; charset=utf-8"}
    return from_request(headers, jsontext.serialize(document).encode())


def binary(attributes: dict[str, str], body: bytes, content_type: str = "application/json") -> Event:
    headers = {f"ce-{name}": value for name, value in attributes.items()}
    return from_request(headers | {"content-type": content_type}, body)


def pointers(refused: pytest.ExceptionInfo[ProblemError]) -> list[str]:
    return [error.pointer for error in refused.value.errors]


class TestNative:
    def test_every_field_is_read_and_numbers_keep_their_digits(self):
        event = native(NATIVE)
        assert (event.id, event.type, event.source) == ("obs-7f3", "observation.created", "lab")
        assert event.subjects == {"patient": "p-42"}
        assert str(event.data["value"]) == "6.10"
        assert event.target is not None
        assert (event.target.workflow, event.target.version, event.target.trigger) == ("potassium-alert", 3, "lab")

    def test_without_an_id_one_is_made_that_sorts_by_time(self):
        first, second = native({"type": "t"}), native({"type": "t"})
        assert first.id < second.id
        assert first.id[14] == "7"

    @pytest.mark.parametrize(
        ("change", "pointer"),
        [
            ({"eventId": ""}, "/eventId"),
            ({"eventId": "a/b"}, "/eventId"),
            ({"eventId": "a\nb"}, "/eventId"),
            ({"eventId": "x" * 201}, "/eventId"),
            ({"eventId": 7}, "/eventId"),
            ({"type": None}, "/type"),
            ({"type": ""}, "/type"),
            ({"time": "yesterday"}, "/time"),
            ({"time": "2026-11-30T20:09:00"}, "/time"),
            ({"subjects": {"patient": 42}}, "/subjects/patient"),
            ({"subjects": {"patient": ""}}, "/subjects/patient"),
            ({"subjects": {"a:b": "x"}}, "/subjects/a:b"),
            ({"subjects": ["patient"]}, "/subjects"),
            ({"source": "\0"}, "/source"),
            ({"data": {"note": "a\0b"}}, "/data/note"),
            ({"target": {"workflow": "Not A Slug"}}, "/target/workflow"),
            ({"target": {"workflow": "a", "version": 0}}, "/target/version"),
            ({"target": {"workflow": "a", "version": "3"}}, "/target/version"),
            ({"target": {"workflow": "a", "version": 1, "spec": {}}}, "/target"),
            ({"targets": {}}, "/targets"),
        ],
    )
    def test_a_field_that_is_wrong_is_named(self, change: dict[str, Any], pointer: str):
        with pytest.raises(InvalidInput) as refused:
            native(NATIVE | change)
        assert pointers(refused) == [pointer]

    def test_all_wrong_fields_are_named_at_once(self):
        with pytest.raises(InvalidInput) as refused:
            native({"eventId": "a/b", "subjects": {"patient": 1}})
        assert sorted(pointers(refused)) == ["/eventId", "/subjects/patient", "/type"]

    def test_a_lone_surrogate_is_refused_by_its_field(self):
        with pytest.raises(InvalidInput) as refused:
            from_request({}, rb'{"type": "t", "data": ["\ud800"]}')
        assert pointers(refused) == ["/data/0"]

    @pytest.mark.parametrize("body", [b"", b"{", b"NaN", b"\xff", b"[" * 100_000, b'{"type": "t", "data": NaN}'])
    def test_what_is_no_json_is_malformed(self, body: bytes):
        with pytest.raises(MalformedRequest):
            from_request({"content-type": "application/json"}, body)

    @pytest.mark.parametrize("body", [b"[]", b'"x"', b"7", b"null"])
    def test_json_that_is_no_object_is_invalid(self, body: bytes):
        with pytest.raises(InvalidInput):
            from_request({}, body)

    def test_no_answer_repeats_what_was_sent(self):
        with pytest.raises(InvalidInput) as refused:
            native({"type": "t", "subjects": {"patient": 4242}, "source": "x" * 600, "time": "secret-4242"})
        assert "4242" not in jsontext.serialize(refused.value.as_json())


class TestCloudEvents:
    def test_structured_is_the_same_event(self):
        event = structured(CLOUD_EVENT)
        assert (event.id, event.type, event.source, event.time) == (
            "obs-7f3",
            "observation.created",
            "lab",
            "2026-11-30T20:09:00Z",
        )
        assert event.subjects == {"patient": "p-42"}
        assert str(event.data["value"]) == "6.10"

    def test_binary_is_the_same_event(self):
        attributes = {name: value for name, value in CLOUD_EVENT.items() if name != "data"}
        event = binary(attributes, b'{"code": "K", "value": 6.10}')
        assert event == structured(CLOUD_EVENT)

    def test_extensions_designate(self):
        event = structured(CLOUD_EVENT | {"target": "potassium-alert", "targetversion": 3, "targettrigger": "lab"})
        assert event.target is not None
        assert (event.target.workflow, event.target.version, event.target.trigger) == ("potassium-alert", 3, "lab")
        attributes = {"specversion": "1.0", "id": "1", "type": "t", "source": "s", "target": "w"}
        assert binary(attributes | {"targetversion": "2"}, b"").target.version == 2  # type: ignore[union-attr]

    def test_a_subject_without_a_kind_is_kept_as_it_is(self):
        assert structured(CLOUD_EVENT | {"subject": "blob/1.png"}).subjects == {"subject": "blob/1.png"}

    @pytest.mark.parametrize("name", ["id", "type", "source", "specversion"])
    def test_a_missing_attribute_is_named_and_no_id_is_made_up(self, name: str):
        with pytest.raises(InvalidInput) as refused:
            structured({key: value for key, value in CLOUD_EVENT.items() if key != name})
        assert pointers(refused) == [f"/{name}"]

    def test_a_field_is_named_as_the_cloud_event_names_it(self):
        with pytest.raises(InvalidInput) as refused:
            structured(CLOUD_EVENT | {"id": "a/b", "time": "yesterday"})
        assert sorted(pointers(refused)) == ["/id", "/time"]
        with pytest.raises(InvalidInput) as refused:
            structured(CLOUD_EVENT | {"target": "Not A Slug", "targetversion": "x"})
        assert sorted(pointers(refused)) == ["/target", "/targetversion"]

    def test_a_field_is_looked_for_where_it_stands(self):
        attributes = {"specversion": "1.0", "id": "a/b", "type": "t", "source": "s"}
        with pytest.raises(InvalidInput) as refused:
            binary(attributes, b"1")
        assert [(fault.place, fault.pointer) for fault in refused.value.errors] == [("header", "/id")]
        with pytest.raises(InvalidInput) as refused:
            binary(attributes | {"id": "1"}, rb'["\u0000"]')
        assert [(fault.place, fault.pointer) for fault in refused.value.errors] == [("body", "/data/0")]

    def test_a_content_type_is_told_by_its_type_in_any_letters(self):
        body = jsontext.serialize(CLOUD_EVENT).encode()
        assert from_request({"content-type": "Application/CloudEvents+JSON"}, body).id == "obs-7f3"
        body = jsontext.serialize(NATIVE).encode()
        assert from_request({"content-type": "application/json; note=cloudevents"}, body).id == "obs-7f3"

    @pytest.mark.parametrize(
        ("content_type", "body"),
        [
            ("application/cloudevents-batch+json", b"[]"),
            ("application/cloudevents+avro", b"x"),
        ],
    )
    def test_batches_and_other_formats_are_unsupported(self, content_type: str, body: bytes):
        with pytest.raises(UnsupportedMediaType):
            from_request({"content-type": content_type}, body)

    def test_data_that_is_no_json_is_unsupported(self):
        attributes = {"specversion": "1.0", "id": "1", "type": "t", "source": "s"}
        with pytest.raises(UnsupportedMediaType):
            binary(attributes, b"\x89PNG", "image/png")
        with pytest.raises(UnsupportedMediaType):
            structured({**attributes, "data_base64": "aGk="})

    @pytest.mark.parametrize("body", [b"{", b"[]", b'"x"', b'{"a":' * 201 + b"1" + b"}" * 201])
    def test_a_structured_body_that_is_no_event_is_malformed(self, body: bytes):
        with pytest.raises(MalformedRequest):
            from_request({"content-type": "application/cloudevents+json"}, body)


class TestEventBus:
    ENVELOPE: ClassVar[dict[str, Any]] = {
        "version": "0",
        "id": "6a7e8feb-b491-4cf7-a9f1-bf3703467718",
        "detail-type": "observation.created",
        "source": "lab",
        "account": "123456789012",
        "time": "2026-11-30T20:09:00Z",
        "region": "eu-west-1",
        "resources": [],
        "detail": {"eventId": "obs-7f3", "subjects": {"patient": "p-42"}, "data": {"code": "K"}, "more": 1},
    }

    def test_the_envelope_is_the_event(self):
        event = from_event_bus(self.ENVELOPE)
        assert (event.id, event.type, event.source, event.time) == (
            "obs-7f3",
            "observation.created",
            "lab",
            "2026-11-30T20:09:00Z",
        )
        assert (event.subjects, event.data, event.target) == ({"patient": "p-42"}, {"code": "K"}, None)

    def test_without_an_id_of_its_own_the_envelopes_is_taken(self):
        assert from_event_bus(self.ENVELOPE | {"detail": {}}).id == self.ENVELOPE["id"]

    @pytest.mark.parametrize("field", [{"eventId": ""}, {"eventId": 0}, {"subjects": []}, {"subjects": ""}])
    def test_what_is_given_and_empty_is_not_replaced(self, field: dict[str, Any]):
        with pytest.raises(InvalidInput) as refused:
            from_event_bus(self.ENVELOPE | {"detail": field})
        assert pointers(refused) == [f"/{name}" for name in field]

    @pytest.mark.parametrize("envelope", [None, [], {}, {"detail": 1}, {"detail": {}, "id": "x"}])
    def test_what_is_no_event_is_invalid(self, envelope: Any):
        with pytest.raises(InvalidInput):
            from_event_bus(envelope)


ATTRIBUTES = {"specversion": "1.0", "id": "obs-7f3", "type": "t", "source": "lab"}


@pytest.mark.parametrize("name", ["id", "type", "subject", "time"])
@pytest.mark.parametrize("text", ["q%FF", "q%FE", "%ED%A0%80"])
def test_a_header_that_is_no_utf8_is_refused_where_it_stands(name: str, text: str) -> None:
    """Read with replacements, two events would have one id, and the second would be lost as a duplicate."""
    with pytest.raises(InvalidInput) as refused:
        binary(ATTRIBUTES | {name: text}, b"{}")
    assert pointers(refused) == [f"/{name}"]


def test_a_version_of_any_length_is_read_or_refused() -> None:
    target = {"target": "potassium-alert", "targetversion": "9" * 5_000}
    with pytest.raises(InvalidInput) as refused:
        binary(ATTRIBUTES | target, b"{}")
    assert pointers(refused) == ["/targetversion"]


def test_an_answer_names_some_of_many_faults_and_how_many_there_are() -> None:
    with pytest.raises(InvalidInput) as refused:
        native({"type": "t"} | {f"k{number:06}" * 100: 1 for number in range(10_000)})
    answer = jsontext.serialize(refused.value.as_json())
    assert len(refused.value.as_json()["errors"]) == 50
    assert "(and 9999 more)" in answer
    assert len(answer) < 50_000
