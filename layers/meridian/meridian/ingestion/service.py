"""Ingestion: an event starts one run per workflow that receives it, once."""

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any, Literal, Protocol

import uuid_utils

from meridian import jsontext
from meridian.clock import now
from meridian.definitions.store import DefinitionStore
from meridian.errors import (
    DatabaseUnavailable,
    FieldError,
    InvalidInput,
    ProblemError,
    RestateUnavailable,
    Unavailable,
)
from meridian.ingestion.event import Event, Target
from meridian.ingestion.plan import Delivery, Plan, designate, plan_deliveries, route
from meridian.ingestion.recent import Outcome, RecentEvent, RecentEvents
from meridian.runs.model import EventRow, NewRun, RouteMatch
from meridian.runs.store import RunStore

logger = logging.getLogger("meridian.ingestion")

SENDERS = 8  # deliveries of one event that are sent at once
SEND_BUDGET_SECONDS = 15.0  # of an event for all its deliveries, well within the function's own time
START_TIMEOUT_SECONDS = 2.0

Reason = Literal["started", "duplicate", "anteriority"]


class RunStarter(Protocol):
    """What ingestion asks of Restate."""

    url: str

    def send_run(self, run_id: str, run_input: Mapping[str, Any], timeout: float | None = None) -> bool: ...

    def get_start(self, run_id: str, timeout: float | None = None) -> Any | None: ...


class FollowUps(Protocol):
    """Runs that are looked at again a little later, without anyone reading them."""

    def schedule(self, run_ids: Sequence[str]) -> None: ...


@dataclass(frozen=True, slots=True)
class DeliveryResult:
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


@dataclass(frozen=True, slots=True)
class Ingestion:
    """What became of an event."""

    event_id: str
    results: tuple[DeliveryResult, ...]

    @property
    def started(self) -> bool:
        return any(result.created for result in self.results)

    def as_json(self) -> dict[str, Any]:
        return {"eventId": self.event_id, "runs": [result.as_json() for result in self.results]}


class Ingestor:
    """Starts the runs of events.

    A run is started first and indexed second. `run/send` is idempotent per key, so a crash between the two is
    mended by the redelivery; the other way round, a row without a run would lose the event.
    """

    def __init__(
        self,
        runs: RunStore,
        definitions: DefinitionStore,
        recent: RecentEvents,
        restate: RunStarter,
        *,
        check: Callable[[object], list[Any]],
        follow_ups: FollowUps | None = None,
    ) -> None:
        self._runs = runs
        self._definitions = definitions
        self._recent = recent
        self._restate = restate
        self._check = check
        self._follow_ups = follow_ups
        self._senders = ThreadPoolExecutor(SENDERS, thread_name_prefix="send-run")

    def ingest(self, event: Event) -> Ingestion:
        """Starts what the event starts, and says of each workflow what became of it.

        Raises `InvalidInput` and `NotFound` for a target that cannot be run, with nothing started. Raises
        `Unavailable`, naming in `runs` what started, when Restate or the database fails for some deliveries: the
        same event sent again completes the rest.
        """
        received_at = now()
        try:
            deliveries = self._deliveries(event)
            rows = self._runs.event_rows(event.id, [delivery.run_id for delivery in deliveries])
            plan = plan_deliveries(event.id, deliveries, rows)
            started = self._start_all(event, plan.start, received_at)
        except ProblemError as problem:
            self.record_problem(problem, event, received_at=received_at)
            raise
        ingestion = Ingestion(event.id, _reported(plan, started, rows))
        self._record(event, received_at, _outcome(plan, ingestion), _recorded(plan, ingestion))
        if self._follow_ups is not None and ingestion.started:
            self._follow_ups.schedule([result.run_id for result in ingestion.results if result.created])
        return ingestion

    def record_problem(
        self, problem: ProblemError, event: Event | None = None, *, received_at: str | None = None
    ) -> None:
        """Writes to the recent events that an event was refused, or could not be served, and why."""
        outcome: Outcome = "unavailable" if isinstance(problem, Unavailable) else "rejected"
        document = problem.as_json()
        self._record(event, received_at or now(), outcome, document.pop("runs", []), document)

    def _deliveries(self, event: Event) -> list[Delivery]:
        if event.target is None:
            return route(event, self._definitions.receiving(event.type))
        return [self._designated(event, event.target)]

    def _designated(self, event: Event, target: Target) -> Delivery:
        if target.spec is not None:
            faults = self._check(target.spec)
            if faults:
                errors = [FieldError("body", f"/target/spec{fault.pointer}", fault.detail) for fault in faults]
                raise InvalidInput("The submitted spec is not a valid definition.", errors=errors)
            return designate(event, target, None)
        if target.version is not None:
            return designate(event, target, self._definitions.version(target.workflow, target.version))
        return designate(event, target, self._definitions.active(target.workflow))

    def _start_all(self, event: Event, deliveries: Sequence[Delivery], received_at: str) -> list[DeliveryResult]:
        """Starts the deliveries at once; those that fail do not keep the others from starting."""
        if not deliveries:
            return []
        deadline = time.monotonic() + SEND_BUDGET_SECONDS

        def attempt(delivery: Delivery) -> DeliveryResult | Unavailable:
            try:
                return self._start(event, delivery, received_at, deadline - time.monotonic())
            except Unavailable as failure:
                return failure

        # A single delivery, the common case, is sent from this thread.
        attempts = map(attempt, deliveries) if len(deliveries) == 1 else self._senders.map(attempt, deliveries)
        results = list(attempts)
        started = [result for result in results if isinstance(result, DeliveryResult)]
        failures = [failure for failure in results if isinstance(failure, Unavailable)]
        if failures:
            raise type(failures[0])(
                f"{failures[0].detail} Send the event again to complete it.",
                extra={"eventId": event.id, "runs": [result.as_json() for result in started]},
            )
        return started

    def _start(self, event: Event, delivery: Delivery, received_at: str, seconds: float) -> DeliveryResult:
        """Starts one run within `seconds`, then writes it to the index.

        post A   send (Accepted) ─ insert (written: started)
        post B      send (PreviouslyAccepted) ─ insert (is there: duplicate)
        a crash  send (Accepted) ─ ✗       redelivery: send (PreviouslyAccepted) ─ insert (written: started)
        """
        run = _new_run(event, delivery, received_at, self._restate.url)
        if seconds <= 0:
            raise RestateUnavailable("Restate did not answer in time.")
        if not self._restate.send_run(run.id, _run_input(event, delivery, run), timeout=seconds):
            run = self._as_it_was_started(run)
        created = self._runs.insert(run)
        return DeliveryResult(
            run_id=run.id,
            workflow=run.workflow_slug,
            workflow_name=run.workflow_name,
            created=created,
            route_match=run.route_match,
            trigger_id=run.trigger_id,
            reason="started" if created else "duplicate",
        )

    def _as_it_was_started(self, run: NewRun) -> NewRun:
        """The row of a run that Restate had accepted before, from what it was then started with.

        Between a crash and the redelivery another version may have been published, but the run executes the
        first. A run whose first attempt has not begun cannot tell yet; then this delivery's is the best guess.
        """
        try:
            start = self._restate.get_start(run.id, timeout=START_TIMEOUT_SECONDS)
        except RestateUnavailable:
            start = None
        if not isinstance(start, Mapping):
            return run
        workflow = start["workflow"]
        run = replace(run, created_at=start["receivedAt"])
        if workflow["hash"] == run.spec_hash:
            return run
        version = workflow["version"]
        published = self._definitions.version(run.workflow_slug, version) if version is not None else None
        return replace(
            run,
            workflow_name=workflow["name"],
            spec_version=version,
            spec_hash=workflow["hash"],
            spec_json=jsontext.serialize(published.document) if published is not None else None,
            route_match=start["routeMatch"],
            trigger_id=start["triggerId"],
        )

    def _record(
        self,
        event: Event | None,
        received_at: str,
        outcome: Outcome,
        deliveries: Sequence[dict[str, Any]],
        problem: dict[str, Any] | None = None,
    ) -> None:
        """Writes the reception down. It is the log of ingestion and not a part of it: it may fail alone."""
        try:
            self._recent.record(
                RecentEvent(
                    id=str(uuid_utils.uuid7()),
                    received_at=received_at,
                    event_id=event.id if event is not None else None,
                    event_type=event.type if event is not None else None,
                    source=event.source if event is not None else None,
                    outcome=outcome,
                    deliveries=deliveries,
                    problem=problem,
                )
            )
        except DatabaseUnavailable:
            logger.warning("reception not recorded", extra={"eventId": event.id if event is not None else None})


def _new_run(event: Event, delivery: Delivery, received_at: str, restate_url: str) -> NewRun:
    return NewRun(
        id=delivery.run_id,
        workflow_name=delivery.definition.name,
        workflow_file=f"{delivery.slug}.json",
        workflow_slug=delivery.slug,
        spec_version=delivery.version,
        spec_hash=delivery.spec_hash,
        spec_json=jsontext.serialize(delivery.definition.document) if delivery.keeps_spec else None,
        subjects=event.subjects,
        event=event.as_json(),
        source_event_id=event.id,
        route_match=delivery.route_match,
        event_type=event.type,
        created_at=received_at,
        restate_url=restate_url,
        trigger_id=delivery.trigger_id,
    )


def _run_input(event: Event, delivery: Delivery, run: NewRun) -> dict[str, Any]:
    """What the engine is given: all that it needs, so that it reads no database."""
    return {
        "runId": run.id,
        "workflow": {
            "slug": run.workflow_slug,
            "name": run.workflow_name,
            "file": run.workflow_file,
            "version": run.spec_version,
            "hash": run.spec_hash,
        },
        "spec": delivery.definition.document,
        "triggerId": run.trigger_id,
        "entry": delivery.entry.id if delivery.entry is not None else None,
        "start": delivery.start,
        "routeMatch": run.route_match,
        "event": event.as_json(),
        "subjects": dict(event.subjects),
        "receivedAt": run.created_at,
    }


def _reported(plan: Plan, started: Sequence[DeliveryResult], rows: Sequence[EventRow]) -> tuple[DeliveryResult, ...]:
    """The entries of the answer.

    When anteriority skips every target, they are the rows that the event started, as duplicates. (Spec: Event
    deduplication)
    """
    if plan.anteriority and not plan.start and not plan.duplicates:
        return tuple(_duplicate(row) for row in rows if row.source_event_id is not None)
    skipped = [_skipped(delivery) for delivery in plan.anteriority]
    return (*started, *(_duplicate(row) for row in plan.duplicates), *skipped)


def _recorded(plan: Plan, ingestion: Ingestion) -> list[dict[str, Any]]:
    """The entries of the recent events, which name what anteriority skipped even where the answer does not."""
    if plan.anteriority and not plan.start and not plan.duplicates:
        return [_skipped(delivery).as_json() for delivery in plan.anteriority]
    return [result.as_json() for result in ingestion.results]


def _outcome(plan: Plan, ingestion: Ingestion) -> Outcome:
    if ingestion.started:
        return "started"
    if plan.duplicates or plan.start:
        return "duplicate"
    return "anteriority" if plan.anteriority else "unrouted"


def _duplicate(row: EventRow) -> DeliveryResult:
    return DeliveryResult(
        run_id=row.id,
        workflow=row.workflow_slug,
        workflow_name=row.workflow_name,
        created=False,
        route_match=row.route_match,
        trigger_id=row.trigger_id,
        reason="duplicate",
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
