"""The run index on PostgreSQL or SQLite."""

from collections.abc import Iterable
from typing import Any, Protocol

from meridian import jsontext
from meridian.clock import now
from meridian.database import Database, ensure_schema, open_database
from meridian.runs import queries
from meridian.runs.model import (
    EventRow,
    EventVolume,
    FinalRunStatus,
    NewRun,
    Position,
    RunDetail,
    RunFilter,
    RunRow,
    from_rows,
)
from meridian.runs.schema import RUN_SCHEMA
from meridian.text import storable


class RunStore(Protocol):
    """The run index, the same whichever database keeps it.

    Every method may raise `DatabaseUnavailable`. Each is safe to run again after it was cut short.
    """

    def insert(self, run: NewRun) -> bool:
        """Writes a run; false when a row with its id is there already, which stays as it is."""
        ...

    def get(self, run_id: str) -> RunDetail | None: ...

    def find(self, chosen: RunFilter, after: Position | None, limit: int) -> list[RunRow]:
        """Up to `limit` runs that `chosen` admits, newest first, from behind `after`."""
        ...

    def event_rows(self, event_id: str, run_ids: Iterable[str]) -> list[EventRow]:
        """The rows of an event, of `run_ids`, and the event's old row; oldest first."""
        ...

    def event_volume(self, since: str) -> list[EventVolume]:
        """Distinct events per type and UTC day from `since` on."""
        ...

    def save_snapshot(self, run_id: str, snapshot: Any) -> bool:
        """Archives a snapshot, once; false when one is archived already."""
        ...

    def get_snapshot(self, run_id: str) -> Any | None:
        """The archived snapshot, or None: also for what is archived and is no snapshot."""
        ...

    def set_final_status(self, run_id: str, status: FinalRunStatus, updated_at: str) -> bool:
        """Freezes the status of a run that has none; false when another did it first."""
        ...

    def set_restate_url(self, run_id: str, restate_url: str) -> None:
        """Names the Restate that turned out to know a run."""
        ...

    def live(
        self,
        restate_url: str,
        *,
        own: bool = True,
        after: Position | None = None,
        newest_first: bool = False,
        limit: int,
    ) -> list[RunRow]:
        """Up to `limit` runs without a terminal status, from behind `after`: those of the Restate at
        `restate_url`, or with `own` false those of every other Restate and of none."""
        ...

    def oldest_live(self) -> str | None:
        """When the oldest run without a terminal status was created; None when every run has ended."""
        ...

    def ping(self) -> None:
        """Returns when the database answers."""
        ...

    def close(self) -> None: ...


class SqlRunStore:
    """A `RunStore` over either database: the SQL is the same text."""

    def __init__(self, database: Database) -> None:
        self.database = database

    def insert(self, run: NewRun) -> bool:
        return bool(self.database.count(*queries.insert_run(run)))

    def get(self, run_id: str) -> RunDetail | None:
        if not storable(run_id):  # as a path may hold it: no run was ever stored under it
            return None
        rows = self.database.execute(queries.GET_RUN, {"id": run_id})
        if not rows:
            return None
        *columns, event, spec_json = rows[0]
        (run,) = from_rows([columns])
        return RunDetail(run, _parsed(event), spec_json)

    def find(self, chosen: RunFilter, after: Position | None, limit: int) -> list[RunRow]:
        return from_rows(self.database.execute(*queries.list_runs(chosen, after, limit)))

    def event_rows(self, event_id: str, run_ids: Iterable[str]) -> list[EventRow]:
        rows = self.database.execute(*queries.event_rows(event_id, [*run_ids]))
        return [EventRow._make(row) for row in rows]

    def event_volume(self, since: str) -> list[EventVolume]:
        return [EventVolume._make(row) for row in self.database.execute(queries.EVENT_VOLUME, {"since": since})]

    def save_snapshot(self, run_id: str, snapshot: Any) -> bool:
        parameters = {"run_id": run_id, "snapshot": jsontext.serialize(snapshot), "archived_at": now()}
        return bool(self.database.count(queries.SAVE_SNAPSHOT, parameters))

    def get_snapshot(self, run_id: str) -> Any | None:
        rows = self.database.execute(queries.GET_SNAPSHOT, {"run_id": run_id})
        snapshot = _parsed(rows[0][0]) if rows else None
        return snapshot if isinstance(snapshot, dict) else None

    def set_final_status(self, run_id: str, status: FinalRunStatus, updated_at: str) -> bool:
        parameters = {"id": run_id, "status": status, "updated_at": updated_at}
        return bool(self.database.count(queries.SET_FINAL_STATUS, parameters))

    def set_restate_url(self, run_id: str, restate_url: str) -> None:
        self.database.execute(queries.SET_RESTATE_URL, {"id": run_id, "restate_url": restate_url})

    def live(
        self,
        restate_url: str,
        *,
        own: bool = True,
        after: Position | None = None,
        newest_first: bool = False,
        limit: int,
    ) -> list[RunRow]:
        query = queries.live_runs(restate_url, own=own, after=after, newest_first=newest_first, limit=limit)
        return from_rows(self.database.execute(*query))

    def oldest_live(self) -> str | None:
        rows = self.database.execute(queries.OLDEST_LIVE)
        return str(rows[0][0]) if rows else None

    def ping(self) -> None:
        self.database.execute(queries.PING)

    def close(self) -> None:
        self.database.close()


def _parsed(text: str) -> Any | None:
    """A JSON column; None for what is no JSON, as another hand may have left it: its run can still be settled."""
    try:
        return jsontext.parse(text)
    except ValueError:
        return None


def open_run_store(url: str) -> RunStore:
    """The run index at `url`, brought up to date: `postgresql://…` or `sqlite:PATH`.

    Raises `ConfigurationError` for another URL or an index too old to be migrated, and
    `DatabaseUnavailable`.
    """
    database = open_database(url)
    ensure_schema(database, RUN_SCHEMA)
    return SqlRunStore(database)
