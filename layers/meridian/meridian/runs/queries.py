"""The SQL of the run index: one text for PostgreSQL and SQLite, parameters written `:name`."""

from typing import Any

from meridian.runs.model import RUN_COLUMNS, EventRow, Position, RunFilter

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
# id is the event's own. Three look-ups by index; a row found by two of them comes once.
_EVENT_COLUMNS = ", ".join(EventRow._fields)
EVENT_ROWS = f"""
SELECT {_EVENT_COLUMNS} FROM runs WHERE source_event_id = :event_id
UNION
SELECT {_EVENT_COLUMNS} FROM runs WHERE id IN ({{run_ids}})
UNION
SELECT {_EVENT_COLUMNS} FROM runs WHERE id = :event_id AND source_event_id IS NULL
ORDER BY created_at, id
"""  # noqa: S608

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

# Groups over runs_event_type_volume alone: distinct events by type and UTC day.
EVENT_VOLUME = """
SELECT event_type, substr(created_at, 1, 10) AS day, COUNT(DISTINCT source_event_id) AS events
FROM runs WHERE event_type IS NOT NULL AND created_at >= :since
GROUP BY event_type, substr(created_at, 1, 10) ORDER BY event_type, day
"""

PING = "SELECT 1"


def event_rows(event_id: str, run_ids: list[str]) -> Query:
    """The rows that decide what a delivery of the event starts."""
    parameters: dict[str, Any] = {"event_id": event_id}
    parameters |= {f"run_{number}": run_id for number, run_id in enumerate(run_ids)}
    names = ", ".join(f":run_{number}" for number in range(len(run_ids))) or "NULL"
    return EVENT_ROWS.format(run_ids=names), parameters


def list_runs(chosen: RunFilter, after: Position | None, limit: int) -> Query:
    """A page of runs, newest first, `limit` rows after `after`.

    Every shape of it reads its page off an index in the order of the page: by subject from `run_subjects`, by
    workflow from the slug's index merged with the file's, else from the index of the filter.
    """
    parameters: dict[str, Any] = {"limit": limit}
    conditions = _conditions(chosen, parameters)
    if after is not None:
        parameters |= {"after_created_at": after.created_at, "after_id": after.id}
    if chosen.workflow is not None:
        parameters["workflow"] = chosen.workflow
    if chosen.subject is not None:
        return _page_of_subject(chosen, conditions, after, parameters), parameters
    if after is not None:
        conditions.append("(created_at, id) < (:after_created_at, :after_id)")
    if chosen.workflow is None:
        return _page(conditions), parameters
    by_slug = _page([*conditions, "workflow_slug = :workflow"])
    by_file = _page(
        [*conditions, "workflow_file = :workflow", "(workflow_slug IS NULL OR workflow_slug <> :workflow)"]
    )
    return (
        f"SELECT * FROM (SELECT * FROM ({by_slug}) AS by_slug UNION ALL "  # noqa: S608
        f"SELECT * FROM ({by_file}) AS by_file) AS merged {_ORDER} LIMIT :limit"
    ), parameters


_ORDER = "ORDER BY created_at DESC, id DESC"


def _page(conditions: list[str]) -> str:
    where = f"WHERE {' AND '.join(conditions)} " if conditions else ""
    return f"SELECT {RUN_COLUMNS} FROM runs {where}{_ORDER} LIMIT :limit"  # noqa: S608


def _page_of_subject(
    chosen: RunFilter, conditions: list[str], after: Position | None, parameters: dict[str, Any]
) -> str:
    parameters["subject_kind"], parameters["subject_id"] = chosen.subject or ("", "")
    where = ["s.kind = :subject_kind", "s.subject_id = :subject_id", *conditions]
    if chosen.workflow is not None:
        where.append("(runs.workflow_slug = :workflow OR runs.workflow_file = :workflow)")
    if after is not None:
        where.append("(s.created_at, s.run_id) < (:after_created_at, :after_id)")
    columns = ", ".join(f"runs.{name}" for name in RUN_COLUMNS.split(", "))
    return (
        f"SELECT {columns} FROM run_subjects s JOIN runs ON runs.id = s.run_id "  # noqa: S608
        f"WHERE {' AND '.join(where)} ORDER BY s.created_at DESC, s.run_id DESC LIMIT :limit"
    )


def _conditions(chosen: RunFilter, parameters: dict[str, Any]) -> list[str]:
    """The filters that compare one column with one value, and their parameters."""
    equal = {
        "trigger_id": chosen.trigger,
        "source_event_id": chosen.event,
        "event_type": chosen.event_type,
        "final_status": None if chosen.status == "live" else chosen.status,
    }
    conditions = [f"runs.{column} = :{column}" for column, value in equal.items() if value is not None]
    parameters |= {column: value for column, value in equal.items() if value is not None}
    if chosen.status == "live":
        conditions.append("runs.final_status IS NULL")
    if chosen.created_from is not None:
        conditions.append("runs.created_at >= :created_from")
        parameters["created_from"] = chosen.created_from
    if chosen.created_to is not None:
        conditions.append("runs.created_at < :created_to")
        parameters["created_to"] = chosen.created_to
    return conditions
