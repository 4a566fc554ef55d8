"""The delivery plan: who receives an event, and what that starts. Rules without I/O."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from meridian.definitions.expressions import selects
from meridian.definitions.model import Definition, Entry, spec_hash
from meridian.definitions.store import PublishedVersion
from meridian.errors import FieldError, NotFound
from meridian.ingestion.event import Event, Target
from meridian.runs.model import EventRow, RouteMatch


class Delivery(NamedTuple):
    """One workflow that receives an event."""

    event_id: str
    slug: str
    definition: Definition
    version: int | None  # None for a draft
    spec_hash: str
    published_at: str | None  # of the version that is delivered to; None for a draft
    route_match: RouteMatch
    entry: Entry | None

    @property
    def run_id(self) -> str:
        """One run per event and workflow: this is also the key by which Restate runs it once."""
        return run_id_of(self.event_id, self.slug)

    @property
    def designated(self) -> bool:
        """Whether the event named this workflow, rather than being routed to it."""
        return self.route_match in ("targeted", "pinned")

    @property
    def trigger_id(self) -> str | None:
        """The entry's id, for a workflow with several."""
        return self.entry.id if self.entry is not None and len(self.definition.entries) > 1 else None

    @property
    def start(self) -> str:
        """The node at which the run starts."""
        return self.entry.start if self.entry is not None else self.definition.start

    @property
    def keeps_spec(self) -> bool:
        """Whether the row keeps the spec itself: drafts, which are published nowhere, and multi-entry runs."""
        return self.version is None or len(self.definition.entries) > 1


class Plan(NamedTuple):
    """What an event does: the runs to start, the rows it started before, the deliveries it comes too late for."""

    start: tuple[Delivery, ...] = ()
    duplicates: tuple[EventRow, ...] = ()
    anteriority: tuple[Delivery, ...] = ()


def run_id_of(event_id: str, slug: str) -> str:
    return f"{event_id}:{slug}"


def route(event: Event, receiving: Iterable[PublishedVersion]) -> list[Delivery]:
    """The deliveries of an event that designates nobody: one per workflow with an entry that takes it.

    An entry takes the event when its type is the event's and its selector, if any, holds. Of several the first
    in order is the run's. `receiving` are the active versions.
    """
    seen_by_selectors = event.as_json()
    deliveries = []
    for published in receiving:
        entry = _first_taking(published.definition.entries, event.type, seen_by_selectors)
        if entry is not None:
            match: RouteMatch = "unfiltered" if entry.selector is None else "selector"
            deliveries.append(_delivery(event.id, published, match, entry))
    return deliveries


def _first_taking(entries: Sequence[Entry], event_type: str, event: Mapping[str, Any]) -> Entry | None:
    for entry in entries:
        if entry.event == event_type and selects(entry.selector, event):
            return entry
    return None


def designate(event: Event, target: Target, published: PublishedVersion | None) -> Delivery:
    """The delivery of an event that names its workflow, whatever that workflow's selectors say.

    `published` is the version it names, or the active one. Raises `NotFound` naming the part of the target that
    does not exist.
    """
    match: RouteMatch = "pinned" if target.pinned else "targeted"
    if target.spec is not None:
        draft = Definition.parse(target.spec)
        entry = _designated_entry(draft.entries, event, target)
        return Delivery(event.id, target.workflow, draft, None, spec_hash(target.spec), None, match, entry)
    if published is None:
        raise _unknown(target)
    entry = _designated_entry(published.definition.entries, event, target)
    return _delivery(event.id, published, match, entry)


def _delivery(event_id: str, published: PublishedVersion, match: RouteMatch, entry: Entry | None) -> Delivery:
    return Delivery(
        event_id=event_id,
        slug=published.slug,
        definition=published.definition,
        version=published.version,
        spec_hash=published.spec_hash,
        published_at=published.published_at,
        route_match=match,
        entry=entry,
    )


def _designated_entry(entries: Sequence[Entry], event: Event, target: Target) -> Entry | None:
    """The entry the target names; else the first for the event's type; else the first."""
    if target.trigger is not None:
        for entry in entries:
            if entry.id == target.trigger:
                return entry
        raise NotFound(
            "The workflow has no such entry.",
            errors=[FieldError("body", "/target/trigger", "names no entry of the workflow")],
        )
    of_type = (entry for entry in entries if entry.event == event.type)
    return next(of_type, entries[0] if entries else None)


def _unknown(target: Target) -> NotFound:
    if target.version is not None:
        fault = FieldError("body", "/target/version", "names no published version of the workflow")
        return NotFound("There is no such version of the workflow.", errors=[fault])
    fault = FieldError("body", "/target/workflow", "names no workflow with an active version")
    return NotFound("There is no such active workflow.", errors=[fault])


def plan_deliveries(event_id: str, deliveries: Sequence[Delivery], rows: Sequence[EventRow]) -> Plan:
    """What each delivery of an event does, given the rows the index has of it. (Spec: Event deduplication)

    - *old row*: a row whose id is the event's and which names no source event was written by a release older
      than fan-out routing. The event is a duplicate for every workflow, and only that row is reported.
    - *duplicate*: a row carries the delivery's run id.
    - *anteriority*: the index knows the event, and the workflow's version was published at or after the event
      was first received. Designated deliveries are not affected.
    - otherwise the run starts.

    An event that reaches nobody, but has started runs before, is reported with those.
    """
    old = tuple(row for row in rows if row.id == event_id and row.source_event_id is None)
    if old:
        return Plan(duplicates=old)
    known = {row.id: row for row in rows}
    of_event = [row for row in rows if row.source_event_id == event_id]
    first_received = min((row.created_at for row in of_event), default=None)
    start, duplicates, anteriority = [], [], []
    for delivery in deliveries:
        if delivery.run_id in known:
            duplicates.append(known[delivery.run_id])
        elif _comes_too_late(delivery, first_received):
            anteriority.append(delivery)
        else:
            start.append(delivery)
    if not deliveries:
        duplicates = of_event
    return Plan(tuple(start), tuple(duplicates), tuple(anteriority))


def _comes_too_late(delivery: Delivery, first_received: str | None) -> bool:
    """Whether a routed workflow was not yet published when the event was first received."""
    if first_received is None or delivery.designated or delivery.published_at is None:
        return False
    return delivery.published_at >= first_received
