"""The recent events: what came in, what each started, and why it started nothing."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from meridian import jsontext
from meridian.clock import ago
from meridian.database import Database
from meridian.runs.model import Position

Outcome = Literal["started", "duplicate", "anteriority", "unrouted", "rejected", "unavailable"]

RECORD = """
INSERT INTO recent_events (id, received_at, event_id, event_type, source, outcome, deliveries, problem)
VALUES (:id, :received_at, :event_id, :event_type, :source, :outcome, :deliveries, :problem)
ON CONFLICT (id) DO NOTHING
"""
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


@dataclass(frozen=True, slots=True)
class RecentEvent:
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
