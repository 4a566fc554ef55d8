"""What became of an event: the entries of its answer and of the recent events. Rules without I/O."""

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

from meridian.ingestion.plan import Delivery, Plan
from meridian.ingestion.recent import Outcome
from meridian.runs.model import EventRow, NewRun, RouteMatch

Reason = Literal["started", "duplicate", "anteriority"]


class DeliveryResult(NamedTuple):
    """What became of one workflow that receives the event."""

    run_id: str
    workflow: str | None
    workflow_name: str
    created: bool
    route_match: RouteMatch | None
    trigger_id: str | None
    reason: Reason

    def as_json(self) -> dict[str, Any]:
        return {
            "runId": self.run_id,
            "workflow": self.workflow,
            "workflowName": self.workflow_name,
            "created": self.created,
            "routeMatch": self.route_match,
            "triggerId": self.trigger_id,
            "reason": self.reason,
        }


class Ingestion(NamedTuple):
    """What became of an event."""

    event_id: str
    results: tuple[DeliveryResult, ...]  # as they are answered
    recorded: tuple[DeliveryResult, ...]  # as the recent events tell them
    outcome: Outcome

    @property
    def started(self) -> bool:
        return self.outcome == "started"

    def as_json(self) -> dict[str, Any]:
        return {"eventId": self.event_id, "runs": [result.as_json() for result in self.results]}


def conclude(event_id: str, plan: Plan, rows: Sequence[EventRow], started: Sequence[DeliveryResult]) -> Ingestion:
    """What became of an event by `plan`, of which `started` are the runs that were sent.

    When anteriority skips every target, the answer has the rows that the event started, as duplicates (Spec: Event
    deduplication); the recent events name what was skipped.
    """
    skipped = tuple(_skipped(delivery) for delivery in plan.anteriority)
    if skipped and not plan.start and not plan.duplicates:
        of_event = tuple(of_run(row, created=False) for row in rows if row.source_event_id is not None)
        return Ingestion(event_id, of_event, skipped, "anteriority")
    results = (*started, *(of_run(row, created=False) for row in plan.duplicates), *skipped)
    return Ingestion(event_id, results, results, _outcome(results))


def _outcome(results: Sequence[DeliveryResult]) -> Outcome:
    if not results:
        return "unrouted"
    return "started" if any(result.created for result in results) else "duplicate"


def of_run(run: NewRun | EventRow, *, created: bool) -> DeliveryResult:
    """The entry of a run that was sent to Restate, or that is in the index; `created` for the one delivery that wrote
    its row."""
    return DeliveryResult(
        run_id=run.id,
        workflow=run.workflow_slug,
        workflow_name=run.workflow_name,
        created=created,
        route_match=run.route_match,
        trigger_id=run.trigger_id,
        reason="started" if created else "duplicate",
    )


def _skipped(delivery: Delivery) -> DeliveryResult:
    return DeliveryResult(
        run_id=delivery.run_id,
        workflow=delivery.slug,
        workflow_name=delivery.definition.name,
        created=False,
        route_match=delivery.route_match,
        trigger_id=delivery.trigger_id,
        reason="anteriority",
    )
