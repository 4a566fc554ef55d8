"""The recent events: what came in, what each started, and why it started nothing."""

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

from meridian import jsontext
from meridian.clock import ago
from meridian.database import Database
from meridian.runs.model import NewRun, Position
from meridian.runs.queries import INSERT_RUN, insert_run

Outcome = Literal["started", "duplicate", "anteriority", "unrouted", "rejected", "unavailable"]

RECORD = """
INSERT INTO recent_events (id, received_at, event_id, event_type, source, outcome, deliveries, problem)
VALUES (:id, :received_at, :event_id, :event_type, :source, :outcome, :deliveries, :problem)
ON CONFLICT (id) DO NOTHING
"""
# A run and the reception that sent it in one statement. Whether the run's row was there already decides what the
# reception says. A statement that is repeated, since its answer was lost, finds its own reception and tells it again.
RECORD_WITH_RUN = f"""
WITH written AS ({INSERT_RUN} RETURNING id)
INSERT INTO recent_events (id, received_at, event_id, event_type, source, outcome, deliveries)
SELECT :reception_id, :received_at, :event_id, :reception_type, :source,
  CASE WHEN EXISTS (SELECT FROM written) THEN :if_written ELSE :if_there END,
  CASE WHEN EXISTS (SELECT FROM written) THEN :deliveries_if_written ELSE :deliveries_if_there END
ON CONFLICT (id) DO UPDATE SET id = EXCLUDED.id
RETURNING outcome
"""  # noqa: S608
PAGE = """
SELECT id, received_at, event_id, event_type, source, outcome, deliveries, problem FROM recent_events
{where} ORDER BY received_at DESC, id DESC LIMIT :limit
"""
_OLDEST = "SELECT id FROM recent_events WHERE received_at < :before ORDER BY received_at, id LIMIT :limit"
# Rows that another sweep holds are skipped, so that two of them share the work.
TRIM = {
    "postgresql": f"DELETE FROM recent_events WHERE id = ANY(ARRAY({_OLDEST} FOR UPDATE SKIP LOCKED))",  # noqa: S608
    "sqlite": f"DELETE FROM recent_events WHERE id IN ({_OLDEST})",  # noqa: S608
}
KEPT_DAYS = 7


class RecentEvent(NamedTuple):
    """One reception of an event. It holds neither the event's data nor its subjects."""

    id: str  # of the reception, UUIDv7
    received_at: str
    event_id: str | None  # None where the event could not be read
    event_type: str | None
    source: str | None
    outcome: Outcome
    deliveries: Sequence[dict[str, Any]]  # as in the answer: run, workflow and reason
    problem: dict[str, Any] | None  # the problem document, for rejected and unavailable


class RecentEvents:
    """The log of receptions, in the database of the run index. Expiry keeps `KEPT_DAYS` of it."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def record(self, event: RecentEvent) -> None:
        self._database.execute(
            RECORD,
            {
                "id": event.id,
                "received_at": event.received_at,
                "event_id": event.event_id,
                "event_type": event.event_type,
                "source": event.source,
                "outcome": event.outcome,
                "deliveries": jsontext.serialize(list(event.deliveries)),
                "problem": jsontext.serialize(event.problem) if event.problem is not None else None,
            },
        )

    def record_with_run(self, run: NewRun, if_written: RecentEvent, if_there: RecentEvent) -> bool:
        """Writes a run to the index and the reception that sent it, both or neither; whether the run was written.

        The reception is `if_written`, or `if_there` when the run's row was there already: the same but for the
        outcome and the deliveries.
        """
        if self._database.dialect == "sqlite":  # which has no such statement
            with self._database.transaction():
                is_written = bool(self._database.count(*insert_run(run)))
                self.record(if_written if is_written else if_there)
            return is_written
        _, parameters = insert_run(run)
        rows = self._database.execute(
            RECORD_WITH_RUN,
            {
                **parameters,
                "reception_id": if_written.id,
                "received_at": if_written.received_at,
                "event_id": if_written.event_id,
                "reception_type": if_written.event_type,
                "source": if_written.source,
                "if_written": if_written.outcome,
                "if_there": if_there.outcome,
                "deliveries_if_written": jsontext.serialize(list(if_written.deliveries)),
                "deliveries_if_there": jsontext.serialize(list(if_there.deliveries)),
            },
        )
        return bool(rows[0][0] == if_written.outcome)

    def page(self, after: Position | None, limit: int) -> list[RecentEvent]:
        """Up to `limit` receptions, newest first, from behind `after`."""
        where = "WHERE (received_at, id) < (:after_received_at, :after_id)" if after is not None else ""
        parameters: dict[str, Any] = {"limit": limit}
        if after is not None:
            parameters |= {"after_received_at": after.created_at, "after_id": after.id}
        return [_from_row(row) for row in self._database.execute(PAGE.format(where=where), parameters)]

    def trim(self, limit: int) -> int:
        """Removes up to `limit` receptions older than `KEPT_DAYS`, the oldest first; how many it removed."""
        parameters = {"before": ago(days=KEPT_DAYS), "limit": limit}
        return self._database.count(TRIM[self._database.dialect], parameters)


def _from_row(row: tuple[Any, ...]) -> RecentEvent:
    reception, received_at, event_id, event_type, source, outcome, deliveries, problem = row
    return RecentEvent(
        id=reception,
        received_at=received_at,
        event_id=event_id,
        event_type=event_type,
        source=source,
        outcome=outcome,
        deliveries=jsontext.parse(deliveries),
        problem=jsontext.parse(problem) if problem is not None else None,
    )
