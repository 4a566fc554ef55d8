"""A run as the index knows it.

Rows are named tuples and not dataclasses: a list makes up to 200 of them from the driver's tuples, and this is
the cheapest immutable value that has names.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from operator import attrgetter
from typing import Any, Literal, NamedTuple

from meridian.runs.schema import parse_subjects

SERVICE = "meridianWorkflow"
JOURNAL_FORMAT = 1  # what the engine of this release writes to Restate's journal

FinalRunStatus = Literal["completed", "failed"]
RouteMatch = Literal["selector", "unfiltered", "targeted", "pinned"]
StatusFilter = Literal["live", "completed", "failed"]
RunStatus = Literal["running", "suspended", "waiting", "completed", "failed", "unknown"]


class RunRow(NamedTuple):
    """What lists read of a run: neither the event's data, nor the spec, nor the snapshot."""

    id: str  # `<eventId>:<slug>`, which is also the key of the Restate workflow
    service: str  # the Restate service that executes it
    workflow_name: str
    created_at: str  # when the event was first received
    final_status: FinalRunStatus | None  # frozen once, at the end
    workflow_file: str | None
    updated_at: str | None
    workflow_slug: str | None
    spec_version: int | None  # null for a draft
    spec_hash: str | None
    subjects_json: str | None  # {"<context kind>": "<subject id>"}
    source_event_id: str | None  # null in rows older than fan-out routing
    route_match: RouteMatch | None
    event_type: str | None
    restate_url: str | None  # the ingress that accepted the run
    journal_format: int | None
    trigger_id: str | None  # the entry, for a workflow with several

    @property
    def subjects(self) -> dict[str, str]:
        return parse_subjects(self.subjects_json)

    @property
    def slug(self) -> str:
        """The workflow's slug; for rows older than the column, what the file was called."""
        return self.workflow_slug or (self.workflow_file or "").removesuffix(".json")


RUN_COLUMNS = ", ".join(f"runs.{'subjects' if name == 'subjects_json' else name}" for name in RunRow._fields)
_FINAL_STATUSES = frozenset({"completed", "failed", None})
_made: Callable[[Sequence[Any]], RunRow] = partial(tuple.__new__, RunRow)  # without a Python call for each


def from_rows(rows: Iterable[Sequence[Any]]) -> list[RunRow]:
    """Rows of `RUN_COLUMNS` as they came from the database. A `final_status` that is neither literal reads as null."""
    runs = [*map(_made, rows)]
    if _FINAL_STATUSES.issuperset(map(attrgetter("final_status"), runs)):
        return runs
    return [run if run.final_status in _FINAL_STATUSES else run._replace(final_status=None) for run in runs]


class NewRun(NamedTuple):
    """A run to be written to the index."""

    id: str
    workflow_name: str
    workflow_file: str
    workflow_slug: str
    spec_version: int | None
    spec_hash: str
    spec_json: str | None  # the spec itself for drafts and for workflows with several entries
    subjects: Mapping[str, str]
    event: Mapping[str, Any]
    source_event_id: str
    route_match: RouteMatch
    event_type: str
    created_at: str
    restate_url: str
    trigger_id: str | None
    service: str = SERVICE
    journal_format: int = JOURNAL_FORMAT


class RunDetail(NamedTuple):
    """A run with what only its own page reads."""

    run: RunRow
    event: Any  # the event as it was received; None where that is no JSON
    spec_json: str | None


class EventRow(NamedTuple):
    """What the delivery plan reads of a run that an event started."""

    id: str
    source_event_id: str | None
    created_at: str
    workflow_slug: str | None
    workflow_name: str
    route_match: RouteMatch | None
    trigger_id: str | None


class Position(NamedTuple):
    """A place in the order of every list: newest first, and by id within one instant."""

    created_at: str
    id: str


class RunFilter(NamedTuple):
    """Which runs a list shows; every part is optional and all of them hold together."""

    workflow: str | None = None  # slug or file
    trigger: str | None = None
    event: str | None = None
    event_type: str | None = None
    status: StatusFilter | None = None
    subject: tuple[str, str] | None = None  # kind and id, matched exactly
    created_from: str | None = None  # inclusive
    created_to: str | None = None  # exclusive


class EventVolume(NamedTuple):
    """How many distinct events of a type were received on one UTC day."""

    event_type: str
    day: str  # 2026-11-30
    events: int
