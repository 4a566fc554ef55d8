"""Where a settlement pass stands in its walk over the live rows."""

from typing import NamedTuple, Self

from meridian import jsontext
from meridian.runs.model import Position


class WalkPosition(NamedTuple):
    """The row a walk has come to: first the rows of its own Restate, then those of the others, oldest first."""

    own: bool
    row: Position

    def serialize(self) -> str:
        return jsontext.serialize([self.own, self.row.created_at, self.row.id])

    @classmethod
    def parse(cls, text: str | None) -> Self | None:
        """None for nothing, and for what another release wrote otherwise: then a walk begins anew."""
        if text is None:
            return None
        try:
            own, created_at, run_id = jsontext.parse(text)
        except (ValueError, TypeError):
            return None
        if not (isinstance(own, bool) and isinstance(created_at, str) and isinstance(run_id, str)):
            return None
        return cls(own, Position(created_at, run_id))
