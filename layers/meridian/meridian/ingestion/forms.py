"""The forms in which an event comes in, each read into the one `Event`."""

from collections.abc import Mapping
from typing import Any

from meridian.errors import FieldError, InvalidInput, Place
from meridian.ingestion.event import Event, EventBody
from meridian.inputs import parse_json, validated

CLOUD_EVENTS = "application/cloudevents"
_CLOUD_EVENT_NAMES = {"eventId": "id", "subjects": "subject"}
_TARGET_NAMES = {"workflow": "target", "version": "targetversion", "trigger": "targettrigger"}


def from_request(headers: Mapping[str, str], content: bytes) -> Event:
    """The event in an HTTP request: native, or a CloudEvent by its content type or its `ce-` headers.

    Raises `MalformedRequest`, `UnsupportedMediaType`, and `InvalidInput` naming each field.
    """
    if not ("ce-specversion" in headers or headers.get("content-type", "").strip().lower().startswith(CLOUD_EVENTS)):
        return validated(EventBody, parse_json(content), "body").as_event()
    # Imported for those who send CloudEvents: the package takes longer to load than the rest of ingestion.
    from meridian.ingestion import cloudevents  # noqa: PLC0415

    form, place = cloudevents.native_form(headers, content)
    try:
        return validated(EventBody, form, "body").as_event()
    except InvalidInput as error:
        errors = [_by_attribute(fault, place) for fault in error.errors]
        raise InvalidInput(error.detail, errors=errors) from None


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
        "eventId": envelope.get("id") if detail.get("eventId") is None else detail["eventId"],
        "type": envelope.get("detail-type"),
        "source": envelope.get("source"),
        "time": envelope.get("time"),
        "subjects": {} if detail.get("subjects") is None else detail["subjects"],
        "data": detail.get("data"),
        "target": detail.get("target"),
    }
    return validated(EventBody, form, "body").as_event()


def _by_attribute(fault: FieldError, place: Place) -> FieldError:
    """A fault of the native form, named as the CloudEvent names the field; its attributes stand in `place`."""
    _, name, *within = fault.pointer.split("/") if fault.pointer else ("", "")
    if name == "data":
        return fault
    known = _TARGET_NAMES[within[0]] if name == "target" and within else _CLOUD_EVENT_NAMES.get(name, name)
    return fault._replace(place=place, pointer=f"/{known}")
