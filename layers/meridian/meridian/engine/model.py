"""The words of the engine: a run's input, what a node asks of the world, and how it ends."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, Self

from meridian.definitions.model import Definition

Json = dict[str, Any]


class InvalidRunInput(ValueError):
    """The input of a run is not what ingestion sends. The message names the field."""


class NodeFailed(Exception):
    """A node cannot go on: the run ends as failed. `reason` must hold no value of the run."""

    def __init__(self, reason: str, code: int = 500) -> None:
        super().__init__(reason)
        self.reason = reason
        self.code = code  # the code of the run's terminal error


@dataclass(frozen=True, slots=True)
class RunInput:
    """What ingestion starts a run with."""

    run_id: str  # `<eventId>:<slug>`
    workflow: Json  # {"slug", "name", "file", "version", "hash"}
    definition: Definition
    trigger_id: str | None  # the entry that took the event, None where the definition has one entry
    start: str  # id of the first node
    event: Json  # the native event
    subjects: Mapping[str, str]  # context kind to id
    route_match: str | None
    received_at: str | None

    @property
    def slug(self) -> str:
        return str(self.workflow["slug"])

    @property
    def start_record(self) -> Json:
        """What `getStart` answers: all that the run's row says of it. A draft is kept, which is published nowhere."""
        is_draft = self.workflow.get("version") is None
        return {
            "workflow": self.workflow,
            "triggerId": self.trigger_id,
            "routeMatch": self.route_match,
            "receivedAt": self.received_at,
            "event": self.event,
            "spec": self.definition.document if is_draft else None,
        }

    @classmethod
    def parse(cls, document: Any) -> Self:
        """:raises InvalidRunInput: naming the first field that is missing or of a wrong type."""
        definition = _definition(_field(document, "spec", dict))
        workflow = _field(document, "workflow", dict)
        _field(workflow, "slug", str)
        return cls(
            run_id=_field(document, "runId", str),
            workflow=workflow,
            definition=definition,
            trigger_id=document.get("triggerId"),
            start=document.get("start") or definition.start,
            event=_field(document, "event", dict),
            subjects=_field(document, "subjects", dict),
            route_match=document.get("routeMatch"),
            received_at=document.get("receivedAt"),
        )


def _field(document: Any, name: str, kind: type) -> Any:
    value = document.get(name) if isinstance(document, dict) else None
    if not isinstance(value, kind):
        raise InvalidRunInput(f"the run's input has no valid {name}")
    return value


def _definition(spec: Json) -> Definition:
    try:
        return Definition.parse(spec)
    except (KeyError, TypeError, AttributeError):
        raise InvalidRunInput("the run's input has no valid spec") from None


# --- effects: what the execution asks of its driver. Each is answered with a JSON object. -------------------


@dataclass(frozen=True, slots=True)
class Tick:
    """Show the snapshot and tell the time. Answer: `{"at"}`."""


class HttpCall(NamedTuple):
    """Call an HTTP service. Answer: `{"at", "status", "body"}`, or `{"at", "failed": reason}`."""

    method: str
    url: str
    headers: Mapping[str, str]
    content: bytes | None
    timeout: int  # seconds, of one try


class MemoryCall(NamedTuple):
    """Call workflow memory. Answer: `{"at", "status", "body"}`, or `{"at", "failed": reason}`."""

    operation: Literal["read", "write", "forget"]
    body: Json


class Ask(NamedTuple):
    """Wait for a decision on `pending`. Answer: `{"at", "outcome", "by", "comment", "data"}`."""

    pending: Json


class Pause(NamedTuple):
    """Wait as `waiting` tells, until resumed or the time is over. Answer: `{"at", "resumed", "data"}`."""

    waiting: Json
    seconds: int | None  # None waits without end


Effect = Tick | HttpCall | MemoryCall | Ask | Pause


# --- what the evaluation of a node gives --------------------------------------------------------------------


class Done(NamedTuple):
    """The node has completed."""

    output: Any
    next: str | None  # the node to go on to; None ends the run with this output


class Call(NamedTuple):
    """The node needs the answer of a call."""

    effect: HttpCall | MemoryCall
    input: Json  # for the trace
    complete: Callable[[Json], Done]


class Suspend(NamedTuple):
    """The node needs a person, or time to pass. The effect depends on the time it begins."""

    begin: Callable[[str], Ask | Pause]
    complete: Callable[[Json], Done]
