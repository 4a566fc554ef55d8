"""CloudEvents 1.0 over HTTP, structured and binary.

| CloudEvent | event |
| --- | --- |
| `id`, `type`, `source`, `time`, `data` | the same |
| `subject` of the form `kind:id` | that subject; another `subject` has the kind `subject` |
| extensions `target`, `targetversion`, `targettrigger` | `target` |
"""

import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import unquote, unquote_to_bytes

from cloudevents.core.base import BaseCloudEvent
from cloudevents.core.bindings.http import HTTPMessage, from_binary
from cloudevents.core.exceptions import CloudEventValidationError, MissingRequiredAttributeError
from cloudevents.core.formats.json import JSONFormat
from cloudevents.core.v1.event import CloudEvent

from meridian import jsontext
from meridian.errors import FieldError, InvalidInput, MalformedRequest, Place, UnsupportedMediaType
from meridian.ingestion.event import KIND_PATTERN

STRUCTURED = "application/cloudevents+json"


def native_form(headers: Mapping[str, str], content: bytes) -> tuple[dict[str, Any], Place]:
    """The native form of the CloudEvent in a request, not yet validated, and where its attributes stand.

    Raises `MalformedRequest`, `UnsupportedMediaType` for batches and data that is no JSON, and `InvalidInput`.
    """
    structured = _media_type(headers).startswith("application/cloudevents")
    place: Place = "body" if structured else "header"
    event, time = _structured(headers, content) if structured else _binary(headers, content)
    if isinstance(event, CloudEventValidationError):
        raise InvalidInput(
            "The CloudEvent's attributes are not valid.",
            errors=[FieldError(place, f"/{name}", str(faults[0])) for name, faults in event.errors.items()],
        )
    subject = event.get_subject()
    form = {
        "eventId": event.get_id(),
        "type": event.get_type(),
        "source": event.get_source(),
        "time": time,
        "subjects": _subjects(subject) if subject is not None else {},
        "data": event.get_data(),
        "target": _target(event),
    }
    return {name: value for name, value in form.items() if value is not None}, place


Read = tuple[BaseCloudEvent | CloudEventValidationError, Any]


def _structured(headers: Mapping[str, str], content: bytes) -> Read:
    if _media_type(headers) != STRUCTURED:
        raise UnsupportedMediaType(f"Of the CloudEvents formats only {STRUCTURED} is taken, one event a request.")
    try:
        attributes = jsontext.parse_sent(content)
    except jsontext.InvalidJson as error:
        raise MalformedRequest(f"The body is not JSON: {error}.") from None
    if not isinstance(attributes, dict):
        raise MalformedRequest("The body is not a CloudEvent: it is no JSON object.")
    if attributes.pop("data_base64", None) is not None:
        raise UnsupportedMediaType("The data of an event must be JSON, not data_base64.")
    data, time = attributes.pop("data", None), attributes.pop("time", None)
    return _checked(attributes, data), time


def _binary(headers: Mapping[str, str], content: bytes) -> Read:
    named = {name.lower(): value for name, value in headers.items()}
    for name, value in named.items():
        if name.startswith("ce-") and not _is_utf8(value):
            # Decoded with replacements, two ids would become one, and the second event a duplicate.
            fault = FieldError("header", f"/{name.removeprefix('ce-')}", "is not percent-encoded UTF-8")
            raise InvalidInput("The CloudEvent's attributes are not valid.", errors=[fault])
    time = named.pop("ce-time", None)
    try:
        event = from_binary(HTTPMessage(named, content), _ExactJson(), _checked)
    except jsontext.InvalidJson as error:
        raise MalformedRequest(f"The body is not JSON: {error}.") from None
    return event, unquote(time) if time is not None else None


def _is_utf8(header: str) -> bool:
    try:
        unquote_to_bytes(header).decode()
    except UnicodeDecodeError:
        return False
    return True


def _checked(attributes: dict[str, Any], data: Any) -> Any:
    """The event, or what is wrong with its attributes.

    The package makes up an id where there is none. Here that would be a new event at each redelivery.
    """
    missing = {"id", "specversion"} - attributes.keys()
    if missing:
        return CloudEventValidationError({name: [MissingRequiredAttributeError(name)] for name in missing})
    try:
        return CloudEvent(attributes, data)
    except CloudEventValidationError as error:
        return error


class _ExactJson(JSONFormat):
    """The JSON format with numbers kept digit for digit."""

    def read_data(self, body: bytes, datacontenttype: str | None) -> Any:
        if not body:
            return None
        if not re.match(self.JSON_CONTENT_TYPE_PATTERN, datacontenttype or self.DEFAULT_CONTENT_TYPE):
            raise UnsupportedMediaType("The data of an event must be JSON.")
        return jsontext.parse_sent(body)


def _media_type(headers: Mapping[str, str]) -> str:
    return headers.get("content-type", "").partition(";")[0].strip().lower()


def _subjects(subject: str) -> dict[str, str]:
    kind, colon, subject_id = subject.partition(":")
    if colon and subject_id and re.match(KIND_PATTERN, kind):
        return {kind: subject_id}
    return {"subject": subject}


def _target(event: BaseCloudEvent) -> dict[str, Any] | None:
    workflow = event.get_extension("target")
    if workflow is None:
        return None
    target = {"workflow": workflow, "trigger": event.get_extension("targettrigger")}
    version = event.get_extension("targetversion")
    if version is not None:
        text = str(version)
        target["version"] = int(text) if re.fullmatch("[0-9]{1,10}", text) else version
    return {name: value for name, value in target.items() if value is not None}
