"""The opaque cursor of a list: where the page before it ended."""

import base64
import binascii

from meridian import jsontext
from meridian.errors import FieldError, InvalidInput
from meridian.runs.model import Position


def encode_cursor(position: Position) -> str:
    """`position` as URL-safe text."""
    text = jsontext.serialize([position.created_at, position.id])
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def decode_cursor(cursor: str) -> Position:
    """The position in `cursor`. Raises `InvalidInput` naming the field for anything else."""
    try:
        padded = cursor.encode("ascii") + b"=" * (-len(cursor) % 4)
        value = jsontext.parse(base64.b64decode(padded, altchars=b"-_", validate=True))
    except (ValueError, binascii.Error):
        raise _bad_cursor() from None
    if not (isinstance(value, list) and len(value) == 2 and all(_is_plain_text(part) for part in value)):  # noqa: PLR2004
        raise _bad_cursor()
    return Position(*value)


def _is_plain_text(value: object) -> bool:
    return isinstance(value, str) and value.isprintable()


def _bad_cursor() -> InvalidInput:
    detail = "is not a cursor that a list gave"
    return InvalidInput(f"cursor {detail}.", errors=[FieldError("query", "/cursor", detail)])
