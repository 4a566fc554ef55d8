"""Reading a request into a model, or saying which field is wrong."""

import base64
import binascii
from typing import Any

from aws_lambda_powertools.utilities.data_classes import APIGatewayProxyEventV2

from meridian.errors import MalformedRequest, PayloadTooLarge
from meridian.inputs import Model, parse_json, validated

MAX_BODY_BYTES = 1024 * 1024


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


def read_json(event: APIGatewayProxyEventV2, *, allow_nan: bool = False) -> Any:
    """The body as JSON, its numbers digit for digit. Raises `MalformedRequest` and `PayloadTooLarge`."""
    return parse_json(body_bytes(event), allow_nan=allow_nan)


def read_body(model: type[Model], event: APIGatewayProxyEventV2, *, allow_nan: bool = False) -> Model:
    """The body as a `model`; with `allow_nan` a `NaN` in it is the model's to refuse, by its field.

    Raises `MalformedRequest` (not JSON), `PayloadTooLarge`, and `InvalidInput` naming each field.
    """
    return validated(model, read_json(event, allow_nan=allow_nan), "body")


def read_query(model: type[Model], event: APIGatewayProxyEventV2) -> Model:
    """The query parameters as a `model`. Raises `InvalidInput` naming each parameter."""
    return validated(model, dict(event.get("queryStringParameters") or {}), "query")
