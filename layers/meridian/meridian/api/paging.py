"""The query parameters that every list shares."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from meridian.runs.cursor import decode_cursor
from meridian.runs.model import Position

MAX_LIMIT = 200
DEFAULT_LIMIT = 50


class PageQuery(BaseModel):
    """Which page of a list."""

    model_config = ConfigDict(defer_build=True, extra="forbid", populate_by_name=True)

    limit: Annotated[int, Field(ge=1, le=MAX_LIMIT)] = DEFAULT_LIMIT
    cursor: Annotated[str, Field(max_length=4096)] | None = Field(None, description="`nextCursor` of the page before.")

    def after(self) -> Position | None:
        """Where the page before ended. Raises `InvalidInput` for a cursor that no list gave."""
        return decode_cursor(self.cursor) if self.cursor is not None else None
