"""The opaque cursor of a list: where the page before it ended."""

import base64
import binascii

from meridian import jsontext
from meridian.errors import FieldError, InvalidInput
from meridian.text import storable


def encode_cursor(*position: str) -> str:
    """The columns of a list's order, in its last row, as URL-safe text."""
    text = jsontext.serialize(position)
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def decode_cursor(cursor: str, columns: int) -> list[str]:
    """The position in `cursor`, of so many columns. Raises `InvalidInput` naming the field for anything else."""
    try:
        padded = cursor.encode("ascii") + b"=" * (-len(cursor) % 4)
        value = jsontext.parse(base64.b64decode(padded, altchars=b"-_", validate=True))
    except (ValueError, binascii.Error):
        raise _bad_cursor() from None
    if not (isinstance(value, list) and len(value) == columns and all(_is_text(part) for part in value)):
        raise _bad_cursor()
    return value


def _is_text(part: object) -> bool:
    return isinstance(part, str) and storable(part)


def _bad_cursor() -> InvalidInput:
    detail = "is not a cursor that a list gave"
    return InvalidInput(f"cursor {detail}.", errors=[FieldError("query", "/cursor", detail)])
