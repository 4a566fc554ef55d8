"""The SQL of the run index: one text for PostgreSQL and SQLite, parameters written `:name`."""

from typing import Any, NamedTuple

from meridian import jsontext
from meridian.runs.model import RUN_COLUMNS, EventRow, NewRun, Position, RunFilter
from meridian.runs.schema import OF_ALL_RUNS, OF_ANY_WORKFLOW, STATUS, UNUSUAL_FILE

Query = tuple[str, dict[str, Any]]

# A run that is there already stays as it is: the first writer wins, a redelivery changes nothing.
INSERT_RUN = """
INSERT INTO runs (id, service, workflow_name, event, created_at, updated_at, workflow_file, workflow_slug,
  spec_version, spec_hash, subjects, source_event_id, route_match, event_type, restate_url, journal_format,
  trigger_id, spec_json)
VALUES (:id, :service, :workflow_name, :event, :created_at, :created_at, :workflow_file, :workflow_slug,
  :spec_version, :spec_hash, :subjects, :source_event_id, :route_match, :event_type, :restate_url,
  :journal_format, :trigger_id, :spec_json)
ON CONFLICT (id) DO NOTHING
"""

GET_RUN = f"SELECT {RUN_COLUMNS}, event, spec_json FROM runs WHERE id = :id"  # noqa: S608

# The runs an event started: those that name it, those whose id the delivery would take, and the old row, whose
# id is the event's own: three look-ups by index, put together.
_EVENT_COLUMNS = ", ".join(EventRow._fields)
_EVENT_ROWS = f"""SELECT {_EVENT_COLUMNS} FROM runs
WHERE source_event_id = :event_id OR id {{runs}} OR (id = :event_id AND source_event_id IS NULL)"""  # noqa: S608

# Write-once: the first snapshot that is archived is the run's end.
SAVE_SNAPSHOT = """
INSERT INTO run_snapshots (run_id, snapshot, archived_at) VALUES (:run_id, :snapshot, :archived_at)
ON CONFLICT (run_id) DO NOTHING
"""

GET_SNAPSHOT = "SELECT snapshot FROM run_snapshots WHERE run_id = :run_id"

# The freeze. Two readers and a pass may try at once: the row lock lets one of them find the status open, the
# others find it set and change nothing. So one winner, one count, and no later ending over an earlier one.
SET_FINAL_STATUS = """
UPDATE runs SET final_status = :status, updated_at = :updated_at
WHERE id = :id AND (final_status IS NULL OR final_status NOT IN ('completed', 'failed'))
"""

# The Restate that a run is known to: the one that accepted it, or a later one that turned out to know it.
SET_RESTATE_URL = "UPDATE runs SET restate_url = :restate_url WHERE id = :id"

# What a settlement pass walks. The rows of one Restate are read off runs_live_restate_url_created_at, the spec's
# index for it; those of all others together in the order of runs_status_created_at, and with them the few whose
# `final_status` is neither literal: that reads as null, so they are live, and the spec's index does not hold them.
_LIVE_OF_ONE = "final_status IS NULL AND restate_url = :restate_url"
_OTHER_RESTATE = "restate_url IS NULL OR restate_url <> :restate_url"
_LIVE_OF_OTHERS = f"{STATUS} = 'live' AND {OF_ANY_WORKFLOW} AND ({_OTHER_RESTATE} OR final_status IS NOT NULL)"

# Groups over runs_event_type_volume alone: distinct events by type and UTC day.
EVENT_VOLUME = """
SELECT event_type, substr(created_at, 1, 10) AS day, COUNT(DISTINCT source_event_id) AS events
FROM runs WHERE event_type IS NOT NULL AND created_at >= :since
GROUP BY event_type, substr(created_at, 1, 10) ORDER BY event_type, day
"""

# The first entry of runs_status_created_at for live runs, but for what an earlier release left without a time.
OLDEST_LIVE = f"""SELECT created_at FROM runs
WHERE {STATUS} = 'live' AND {OF_ANY_WORKFLOW} AND created_at >= '1970' ORDER BY created_at LIMIT 1"""  # noqa: S608

PING = "SELECT 1"


def insert_run(run: NewRun) -> Query:
    """Writes a run, unless its id is there."""
    return INSERT_RUN, {
        "id": run.id,
        "service": run.service,
        "workflow_name": run.workflow_name,
        "event": jsontext.serialize(run.event),
        "created_at": run.created_at,
        "workflow_file": run.workflow_file,
        "workflow_slug": run.workflow_slug,
        "spec_version": run.spec_version,
        "spec_hash": run.spec_hash,
        "subjects": jsontext.serialize(run.subjects),
        "source_event_id": run.source_event_id,
        "route_match": run.route_match,
        "event_type": run.event_type,
        "restate_url": run.restate_url,
        "journal_format": run.journal_format,
        "trigger_id": run.trigger_id,
        "spec_json": run.spec_json,
    }


def event_rows_of(runs: str) -> str:
    """The rows that decide what a delivery of the event starts; `runs` is how SQL names the ids of its runs."""
    return _EVENT_ROWS.format(runs=runs)


def event_rows(event_id: str, run_ids: list[str]) -> Query:
    """The same, oldest first, for run ids that are known."""
    parameters: dict[str, Any] = {"event_id": event_id}
    parameters |= {f"run_{number}": run_id for number, run_id in enumerate(run_ids)}
    names = ", ".join(f":run_{number}" for number in range(len(run_ids))) or "NULL"
    return f"{event_rows_of(f'IN ({names})')} ORDER BY created_at, id", parameters


def list_runs(chosen: RunFilter, after: Position | None, limit: int) -> Query:
    """A page of runs, newest first, `limit` rows after `after`.

    Every shape of it reads its page off an index in the order of the page: of `run_subjects` for a subject, of
    `runs` for anything else. A workflow is given by slug or file; its file is `<slug>.json`, so the slug's index
    finds both, and the few rows of earlier releases whose file is another one are merged in.
    """
    parameters: dict[str, Any] = {"limit": limit}
    if chosen.subject is not None:
        return _list_of_subject(chosen, chosen.subject, after, parameters), parameters
    source = _Source("runs", "runs.created_at", "runs.id")
    conditions = _conditions(chosen, parameters) + _within(chosen, after, source, parameters)
    if chosen.workflow is None:
        return source.page(conditions), parameters
    parameters["workflow"] = chosen.workflow
    if not is_file(chosen.workflow):
        return source.page(["runs.workflow_slug = :workflow", *conditions]), parameters
    parameters["slug"] = chosen.workflow.removesuffix(".json")
    by_slug = source.page(["workflow_slug = :slug", "workflow_file = :workflow", f"NOT {UNUSUAL_FILE}", *conditions])
    by_file = source.page(["workflow_file = :workflow", UNUSUAL_FILE, *conditions])
    return (
        f"SELECT * FROM (SELECT * FROM ({by_slug}) AS by_slug UNION ALL "  # noqa: S608
        f"SELECT * FROM ({by_file}) AS by_file) AS merged ORDER BY created_at DESC, id DESC LIMIT :limit"
    ), parameters


def is_file(workflow: str) -> bool:
    """Whether a workflow is given by its file and not by its slug, which has no dot."""
    return "." in workflow


def _list_of_subject(
    chosen: RunFilter, subject: tuple[str, str], after: Position | None, parameters: dict[str, Any]
) -> str:
    source = _Source("run_subjects s JOIN runs ON runs.id = s.run_id", "s.created_at", "s.run_id")
    conditions = _conditions(chosen, parameters)
    if chosen.workflow is not None:
        column = "workflow_file" if is_file(chosen.workflow) else "workflow_slug"
        conditions.append(f"runs.{column} = :workflow")
        parameters["workflow"] = chosen.workflow
    parameters["subject_kind"], parameters["subject_id"] = subject
    return source.page(
        [
            "s.kind = :subject_kind",
            "s.subject_id = :subject_id",
            *_within(chosen, after, source, parameters),
            *(condition if condition == _OF_EVENT else _beside(condition) for condition in conditions),
        ]
    )


class _Source(NamedTuple):
    """Where a page is read from, and what its order is called there."""

    tables: str
    created_at: str
    id: str

    def page(self, conditions: list[str]) -> str:
        where = f"WHERE {' AND '.join(conditions)} " if conditions else ""
        return (
            f"SELECT {RUN_COLUMNS} FROM {self.tables} {where}"  # noqa: S608
            f"ORDER BY {self.created_at} DESC, {self.id} DESC LIMIT :limit"
        )


_OF_EVENT = "runs.source_event_id = :event"


def _conditions(chosen: RunFilter, parameters: dict[str, Any]) -> list[str]:
    """The filters that compare one value, and their parameters."""
    equal = {
        "runs.trigger_id = :trigger": chosen.trigger,
        _OF_EVENT: chosen.event,
        "runs.event_type = :event_type": chosen.event_type,
        f"{STATUS} = :status": chosen.status,
    }
    given = {condition: value for condition, value in equal.items() if value is not None}
    parameters |= {condition.rpartition(":")[2]: value for condition, value in given.items()}
    if chosen.workflow is None and chosen.subject is None:
        if not given:
            return [OF_ALL_RUNS]
        if chosen.status is not None:
            return [*given, OF_ANY_WORKFLOW]
    return [*given]


def _beside(condition: str) -> str:
    """`condition`, as a filter that no index answers and that the planner takes to hold for every other row.

    A common subject's page is walked in order and filtered. The planner, left to combine indexes by its guesses of
    how many rows several filters leave, was seen to take twenty seconds for a page instead.
    """
    return f"CASE WHEN {condition} THEN TRUE ELSE FALSE END"


def _within(chosen: RunFilter, after: Position | None, source: _Source, parameters: dict[str, Any]) -> list[str]:
    """From when to when, and behind the cursor."""
    conditions = []
    if chosen.created_from is not None:
        conditions.append(f"{source.created_at} >= :created_from")
        parameters["created_from"] = chosen.created_from
    # Behind a cursor that is before the end, the end says nothing, and would only be a second place to start from.
    if chosen.created_to is not None and (after is None or after.created_at >= chosen.created_to):
        conditions.append(f"{source.created_at} < :created_to")
        parameters["created_to"] = chosen.created_to
    if after is not None:
        conditions.append(f"({source.created_at}, {source.id}) < (:after_created_at, :after_id)")
        parameters |= {"after_created_at": after.created_at, "after_id": after.id}
    return conditions


def live_runs(restate_url: str, *, own: bool, after: Position | None, newest_first: bool, limit: int) -> Query:
    """A page of the runs that have not ended, of the Restate at `restate_url` or (`own` false) of all others."""
    parameters: dict[str, Any] = {"restate_url": restate_url, "limit": limit}
    conditions = [_LIVE_OF_ONE if own else _LIVE_OF_OTHERS]
    if after is not None:
        conditions.append(f"(created_at, id) {'<' if newest_first else '>'} (:after_created_at, :after_id)")
        parameters |= {"after_created_at": after.created_at, "after_id": after.id}
    order = "ORDER BY created_at DESC, id DESC" if newest_first else "ORDER BY created_at, id"
    where = " AND ".join(conditions)
    return f"SELECT {RUN_COLUMNS} FROM runs WHERE {where} {order} LIMIT :limit", parameters  # noqa: S608
