"""The forms in which an event comes in, each read into the one `Event`."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from meridian.errors import FieldError, InvalidInput
from meridian.ingestion.event import Event, EventBody
from meridian.inputs import parse_json, validated

_CLOUD_EVENT_NAMES = {"eventId": "id", "subjects": "subject"}


def from_request(headers: Mapping[str, str], content: bytes) -> Event:
    """The event in an HTTP request: native, or a CloudEvent by its content type or its `ce-` headers.

    Raises `MalformedRequest`, `UnsupportedMediaType`, and `InvalidInput` naming each field.
    """
    if not ("ce-specversion" in headers or "cloudevents" in headers.get("content-type", "")):
        return validated(EventBody, parse_json(content), "body").as_event()
    # Imported for those who send CloudEvents: the package takes longer to load than the rest of ingestion.
    from meridian.ingestion import cloudevents  # noqa: PLC0415

    form = cloudevents.native_form(headers, content)
    try:
        return validated(EventBody, form, "body").as_event()
    except InvalidInput as error:
        raise InvalidInput(error.detail, errors=[_by_attribute(fault) for fault in error.errors]) from None


def from_event_bus(envelope: Any) -> Event:
    """The event in an EventBridge envelope.

    `detail-type` is the type, `source` and `time` are the event's, `detail.eventId` is the id where given, else
    the envelope's; `subjects`, `data` and `target` are read from `detail`. Raises `InvalidInput`.
    """
    if not isinstance(envelope, Mapping):
        raise InvalidInput("The message is no EventBridge event.", errors=[FieldError("body", "", "is no object")])
    detail = envelope.get("detail")
    if not isinstance(detail, Mapping):
        fault = FieldError("body", "/detail", "must be an object")
        raise InvalidInput("The event's detail must be an object.", errors=[fault])
    form = {
        "eventId": detail.get("eventId") or envelope.get("id"),
        "type": envelope.get("detail-type"),
        "source": envelope.get("source"),
        "time": envelope.get("time"),
        "subjects": detail.get("subjects") or {},
        "data": detail.get("data"),
        "target": detail.get("target"),
    }
    return validated(EventBody, form, "body").as_event()


def _by_attribute(fault: FieldError) -> FieldError:
    """A fault of the native form, named as the CloudEvent names the field."""
    _, name, *_rest = fault.pointer.split("/") if fault.pointer else ("", "")
    known = _CLOUD_EVENT_NAMES.get(name)
    return replace(fault, pointer=f"/{known}") if known is not None else fault
