"""Reading a request into a model, or saying which field is wrong."""

import base64
import binascii
from collections.abc import Sequence
from typing import Any, TypeVar

from aws_lambda_powertools.utilities.data_classes import APIGatewayProxyEventV2
from pydantic import BaseModel, ValidationError

from meridian import jsontext
from meridian.errors import FieldError, InvalidInput, MalformedRequest, PayloadTooLarge, Place
from meridian.text import unstorable

MAX_BODY_BYTES = 1024 * 1024

Model = TypeVar("Model", bound=BaseModel)


def body_bytes(event: APIGatewayProxyEventV2) -> bytes:
    """The body as it was sent. Raises `PayloadTooLarge` over 1 MiB."""
    body = event.get("body") or ""
    if event.get("isBase64Encoded"):
        try:
            content = base64.b64decode(body, validate=True)
        except binascii.Error:
            raise MalformedRequest("The body is not valid base64.") from None
    else:
        content = body.encode("utf-8", "surrogatepass")
    if len(content) > MAX_BODY_BYTES:
        raise PayloadTooLarge("The body is larger than 1 MiB.")
    return content


def read_json(event: APIGatewayProxyEventV2) -> Any:
    """The body as JSON, its numbers digit for digit. Raises `MalformedRequest` and `PayloadTooLarge`."""
    return parse_json(body_bytes(event))


def parse_json(content: bytes) -> Any:
    """JSON that was sent. Raises `MalformedRequest`."""
    try:
        return jsontext.parse(content)
    except ValueError as error:
        raise MalformedRequest(f"The body is not JSON: {error}.") from None


def read_body(model: type[Model], event: APIGatewayProxyEventV2) -> Model:
    """The body as a `model`.

    Raises `MalformedRequest` (not JSON), `PayloadTooLarge`, and `InvalidInput` naming each field.
    """
    return validated(model, read_json(event), "body")


def read_query(model: type[Model], event: APIGatewayProxyEventV2) -> Model:
    """The query parameters as a `model`. Raises `InvalidInput` naming each parameter."""
    return validated(model, dict(event.get("queryStringParameters") or {}), "query")


def validated(model: type[Model], value: Any, place: Place) -> Model:
    """`value` as a `model`. Raises `InvalidInput` naming each field by a JSON pointer into `place`."""
    pointer = unstorable(value)
    if pointer is not None:
        detail = "has text that cannot be stored: NUL or a lone surrogate"
        raise invalid([FieldError(place, pointer, detail)])
    try:
        return model.model_validate(value)
    except ValidationError as error:
        raise invalid([_field_error(place, problem) for problem in error.errors(include_input=False)]) from None


def invalid(errors: Sequence[FieldError]) -> InvalidInput:
    """The answer for invalid fields; its detail names the first of them."""
    first = errors[0]
    more = f" (and {len(errors) - 1} more)" if len(errors) > 1 else ""
    return InvalidInput(f"{first.pointer or first.place}: {first.detail}{more}.", errors=errors)


def _field_error(place: Place, problem: Any) -> FieldError:
    parts = [str(part) for part in problem["loc"] if part != "[key]"]
    pointer = "".join("/" + part.replace("~", "~0").replace("/", "~1") for part in parts)
    message = str(problem["msg"]).removeprefix("Value error, ")
    return FieldError(place, pointer, message[:1].lower() + message[1:])
