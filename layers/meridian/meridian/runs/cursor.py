"""The cursor of the lists that show the newest first."""

from meridian import cursor
from meridian.runs.model import Position


def encode_cursor(position: Position) -> str:
    """`position` as URL-safe text."""
    return cursor.encode_cursor(position.created_at, position.id)


def decode_cursor(text: str) -> Position:
    """The position in `text`. Raises `InvalidInput` naming the field for anything else."""
    return Position(*cursor.decode_cursor(text, columns=2))
