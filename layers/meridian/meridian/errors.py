"""Every error that an answer can carry.

    MeridianError
     ├── ConfigurationError          a setting is missing or malformed: the function does not start
     └── ProblemError                an answer, as application/problem+json (RFC 9457)
          ├── MalformedRequest       400  the request could not be read
          ├── NotFound               404  what the request names does not exist
          ├── Conflict               409  the state does not allow it
          ├── PayloadTooLarge        413
          ├── UnsupportedMediaType   415
          ├── InvalidInput           422  fields have values that are not allowed; names each field
          ├── DatabaseError          500  the database refused a statement
          └── Unavailable            503  Restate or the database is out of reach; try again
               ├── DatabaseUnavailable
               └── RestateUnavailable

No message here may hold a value of the request: subjects and event data must not reach an answer or a log.
"""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal, NamedTuple

Place = Literal["body", "query", "path", "header"]


MOST_ERRORS = 50  # that an answer names: the detail says how many more there are
MOST_POINTER_CHARACTERS = 300


class FieldError(NamedTuple):
    """One field that is wrong: where it stands, and what is wrong with it."""

    place: Place
    pointer: str  # JSON pointer (RFC 6901) into that place; "" is the whole of it
    detail: str

    def as_json(self) -> dict[str, str]:
        return {"in": self.place, "pointer": self.pointer[:MOST_POINTER_CHARACTERS], "detail": self.detail}


class MeridianError(Exception):
    """Base of every error raised on purpose."""


class ConfigurationError(MeridianError):
    """A setting is missing or malformed; the message names it."""


class ProblemError(MeridianError):
    """An error that is an answer. `detail` is for the caller, `extra` are further members of the document."""

    status: ClassVar[int] = 500
    title: ClassVar[str] = "Internal error"

    def __init__(
        self,
        detail: str,
        *,
        errors: Sequence[FieldError] = (),
        extra: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(detail)
        self.detail = detail
        self.errors = tuple(errors)
        self.extra = dict(extra or {})

    def as_json(self) -> dict[str, Any]:
        """The problem document."""
        document: dict[str, Any] = {
            "type": "about:blank",
            "title": self.title,
            "status": self.status,
            "detail": self.detail,
        }
        if self.errors:
            document["errors"] = [error.as_json() for error in self.errors[:MOST_ERRORS]]
        return document | self.extra


class MalformedRequest(ProblemError):
    """The request could not be read at all."""

    status, title = 400, "Malformed request"


class NotFound(ProblemError):
    """What the request names does not exist."""

    status, title = 404, "Not found"


class Conflict(ProblemError):
    """The state does not allow what the request asks."""

    status, title = 409, "Conflict"


class PayloadTooLarge(ProblemError):
    """The body, or a value in it, is larger than is taken."""

    status, title = 413, "Payload too large"


class UnsupportedMediaType(ProblemError):
    """The body is of a kind that is not taken."""

    status, title = 415, "Unsupported media type"


class InvalidInput(ProblemError):
    """Fields of the request have values that are not allowed; `errors` names each."""

    status, title = 422, "Invalid input"


class DatabaseError(ProblemError):
    """The database refused a statement. It names the kind of error and never repeats the driver's text, which may
    hold values."""


class Unavailable(ProblemError):
    """A service behind this one is out of reach: the same request may succeed later."""

    status, title = 503, "Service unavailable"
    retry_after_seconds: ClassVar[int] = 5


class DatabaseUnavailable(Unavailable):
    """PostgreSQL (or the SQLite file) cannot be reached."""


class RestateUnavailable(Unavailable):
    """Restate's ingress cannot be reached, or did not answer in time."""
