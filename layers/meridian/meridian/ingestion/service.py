"""Ingestion: an event starts one run per workflow that receives it, once."""

import logging
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Protocol

import uuid_utils

from meridian.clock import now
from meridian.definitions.store import DefinitionStore
from meridian.errors import DatabaseUnavailable, FieldError, InvalidInput, ProblemError, Unavailable
from meridian.ingestion.event import Event, Target
from meridian.ingestion.plan import Delivery, Plan, designate, plan_deliveries, route
from meridian.ingestion.recent import Outcome, RecentEvent, RecentEvents
from meridian.ingestion.results import DeliveryResult, Ingestion, conclude, of_run
from meridian.ingestion.routing import Routing, RoutingByTwoReads
from meridian.ingestion.starting import RunStarter, Starter
from meridian.runs.model import EventRow
from meridian.runs.store import RunStore

logger = logging.getLogger("meridian.ingestion")

SENDERS = 8  # deliveries of one event that are sent at once
SEND_BUDGET_SECONDS = 15.0  # of an event for all its deliveries, well within the function's own time


class FollowUps(Protocol):
    """Runs that are looked at again a little later, without anyone reading them."""

    def schedule(self, run_ids: Sequence[str]) -> None: ...


class Ingestor:
    """Starts the runs of events.

    A run is started first and indexed second. `run/send` is idempotent per key, so a crash between the two is
    mended by the redelivery; the other way round, a row without a run would lose the event.

        post A   send (Accepted) ─ insert (written: started)
        post B      send (PreviouslyAccepted) ─ insert (is there: duplicate)
        a crash  send (Accepted) ─ ✗       redelivery: send (PreviouslyAccepted) ─ insert (written: started)
    """

    def __init__(
        self,
        runs: RunStore,
        definitions: DefinitionStore,
        recent: RecentEvents,
        restate: RunStarter,
        *,
        check: Callable[[object], list[Any]],
        routing: Routing | None = None,
        follow_ups: FollowUps | None = None,
    ) -> None:
        self._runs = runs
        self._definitions = definitions
        self._recent = recent
        self._routing = routing or RoutingByTwoReads(runs, definitions)
        self._starter = Starter(restate, definitions)
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
            deliveries, rows = self._known(event)
            plan = plan_deliveries(event.id, deliveries, rows)
            if len(plan.start) == 1:
                ingestion = self._start_one(event, plan, rows, received_at)
            else:
                ingestion = conclude(event.id, plan, rows, self._start_all(event, plan.start, received_at))
                self._record(_concluded(event, received_at, ingestion))
        except ProblemError as problem:
            self.record_problem(problem, event, received_at=received_at)
            raise
        if self._follow_ups is not None and ingestion.started:
            self._follow_ups.schedule([result.run_id for result in ingestion.results if result.created])
        return ingestion

    def record_problem(
        self, problem: ProblemError, event: Event | None = None, *, received_at: str | None = None
    ) -> None:
        """Writes to the recent events that an event was refused, or could not be served, and why."""
        outcome: Outcome = "unavailable" if isinstance(problem, Unavailable) else "rejected"
        document = problem.as_json()
        self._record(_reception(event, received_at or now(), outcome, document.pop("runs", []), document))

    def _known(self, event: Event) -> tuple[list[Delivery], list[EventRow]]:
        """Who receives the event, and the rows that it and its runs have."""
        if event.target is None:
            receiving, rows = self._routing.known(event.id, event.type)
            return route(event, receiving), rows
        delivery = self._designated(event, event.target)
        return [delivery], self._runs.event_rows(event.id, [delivery.run_id])

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

    def _start_one(self, event: Event, plan: Plan, rows: Sequence[EventRow], received_at: str) -> Ingestion:
        """The common case, one delivery to start: the run and the reception are one write."""
        try:
            run = self._starter.start(event, plan.start[0], received_at, SEND_BUDGET_SECONDS)
            created, duplicate = (
                conclude(event.id, plan, rows, [of_run(run, created=is_new)]) for is_new in (True, False)
            )
            reception = _concluded(event, received_at, created)
            otherwise = _concluded(event, received_at, duplicate)._replace(id=reception.id)
            return created if self._recent.record_with_run(run, reception, otherwise) else duplicate
        except Unavailable as failure:
            raise _incomplete(event, failure, []) from None

    def _start_all(self, event: Event, deliveries: Sequence[Delivery], received_at: str) -> list[DeliveryResult]:
        """Starts the deliveries at once, each indexed when it is accepted; one that fails does not keep the others."""
        deadline = time.monotonic() + SEND_BUDGET_SECONDS

        def attempt(delivery: Delivery) -> DeliveryResult | Unavailable:
            try:
                run = self._starter.start(event, delivery, received_at, deadline - time.monotonic())
                return of_run(run, created=self._runs.insert(run))
            except Unavailable as failure:
                return failure

        results = list(self._senders.map(attempt, deliveries))
        started = [result for result in results if isinstance(result, DeliveryResult)]
        failures = [result for result in results if isinstance(result, Unavailable)]
        if failures:
            raise _incomplete(event, failures[0], started)
        return started

    def _record(self, reception: RecentEvent) -> None:
        """Writes a reception down. By itself it is the log of ingestion and not a part of it: it may fail alone."""
        try:
            self._recent.record(reception)
        except DatabaseUnavailable:
            logger.warning("reception not recorded", extra={"eventId": reception.event_id})


def _concluded(event: Event, received_at: str, ingestion: Ingestion) -> RecentEvent:
    return _reception(event, received_at, ingestion.outcome, [result.as_json() for result in ingestion.recorded])


def _reception(
    event: Event | None,
    received_at: str,
    outcome: Outcome,
    deliveries: Sequence[dict[str, Any]],
    problem: dict[str, Any] | None = None,
) -> RecentEvent:
    return RecentEvent(
        id=str(uuid_utils.uuid7()),
        received_at=received_at,
        event_id=event.id if event is not None else None,
        event_type=event.type if event is not None else None,
        source=event.source if event is not None else None,
        outcome=outcome,
        deliveries=deliveries,
        problem=problem,
    )


def _incomplete(event: Event, failure: Unavailable, started: Sequence[DeliveryResult]) -> Unavailable:
    """The answer when not all that the event starts could be started."""
    return type(failure)(
        f"{failure.detail} Send the event again to complete it.",
        extra={"eventId": event.id, "runs": [result.as_json() for result in started]},
    )
