"""An event, and the native form in which it is posted."""

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any, NamedTuple

import uuid_utils
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints, model_validator

SLUG_PATTERN = r"^[a-z0-9]+(?:-[a-z0-9]+)*$"
KIND_PATTERN = r"^[A-Za-z][A-Za-z0-9_.-]*$"


def _event_id(value: str) -> str:
    if not value.isprintable() or "/" in value:
        raise ValueError("must be printable characters without /")
    return value


def _printable(value: str) -> str:
    if not value.isprintable():
        raise ValueError("must be printable characters")
    return value


def _moment(value: str) -> str:
    try:
        moment = datetime.fromisoformat(value)
    except ValueError:
        moment = None
    if moment is None or moment.tzinfo is None:
        raise ValueError("must be a date and time with an offset, as in 2026-11-30T20:09:00Z")
    return value


EventId = Annotated[
    str,
    StringConstraints(min_length=1, max_length=200),
    AfterValidator(_event_id),
    Field(json_schema_extra={"pattern": "^[^/]*$"}),
]
EventType = Annotated[str, StringConstraints(min_length=1, max_length=200), AfterValidator(_printable)]
Slug = Annotated[str, StringConstraints(pattern=SLUG_PATTERN, max_length=100)]
Kind = Annotated[str, StringConstraints(pattern=KIND_PATTERN, max_length=64)]
SubjectId = Annotated[str, StringConstraints(min_length=1, max_length=256)]


class Target(BaseModel):
    """Designates the workflow: alone `targeted`, with a version or a submitted spec `pinned`."""

    model_config = ConfigDict(defer_build=True, extra="forbid", strict=True)

    workflow: Slug
    version: Annotated[int, Field(ge=1, le=2**31 - 1)] | None = None
    trigger: Annotated[str, StringConstraints(min_length=1, max_length=64)] | None = Field(
        None, description="The entry to start at; without it the first entry for the event's type."
    )
    spec: dict[str, Any] | None = Field(None, description="A draft that is run instead of what is published.")

    @model_validator(mode="after")
    def _version_or_spec(self) -> "Target":
        if self.version is not None and self.spec is not None:
            raise ValueError("version and spec exclude each other")
        return self

    @property
    def pinned(self) -> bool:
        return self.version is not None or self.spec is not None


class EventBody(BaseModel):
    """The native form of an event."""

    model_config = ConfigDict(defer_build=True, extra="forbid", strict=True, populate_by_name=True)

    event_id: EventId | None = Field(
        None, alias="eventId", description="The event's identity: posted again, it is still that event."
    )
    type: EventType
    source: Annotated[str, StringConstraints(max_length=500)] | None = None
    time: Annotated[str, AfterValidator(_moment), Field(json_schema_extra={"format": "date-time"})] | None = None
    subjects: Annotated[dict[Kind, SubjectId], Field(max_length=20)] = Field(
        default_factory=dict, description="Whom the event is about: ids by context kind."
    )
    data: Any = None
    target: Target | None = None

    def as_event(self) -> "Event":
        """The event, with an id of its own (UUIDv7) where it came without."""
        return Event(
            id=self.event_id or str(uuid_utils.uuid7()),
            type=self.type,
            source=self.source,
            time=self.time,
            subjects=self.subjects,
            data=self.data,
            target=self.target,
        )


class Event(NamedTuple):
    """An event as it was received, whatever its form was."""

    id: str
    type: str
    source: str | None
    time: str | None
    subjects: Mapping[str, str]
    data: Any
    target: Target | None

    def as_json(self) -> dict[str, Any]:
        """The event as expressions, the engine and the index see it."""
        return {
            "eventId": self.id,
            "type": self.type,
            "source": self.source,
            "time": self.time,
            "subjects": dict(self.subjects),
            "data": self.data,
        }
