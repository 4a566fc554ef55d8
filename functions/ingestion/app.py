"""Ingestion: events by HTTP and from the event bus, the recent events, and the volume per type."""

from datetime import UTC, datetime
from functools import cache
from typing import Any

from aws_lambda_powertools.event_handler import Response
from aws_lambda_powertools.utilities.typing import LambdaContext

from meridian.api import http_handler, json_response, make_resolver, read_query
from meridian.api.documentation import documented
from meridian.api.paging import PageQuery
from meridian.api.requests import body_bytes
from meridian.config import Settings
from meridian.errors import ProblemError, Unavailable
from meridian.ingestion.event import Event, EventBody
from meridian.ingestion.forms import from_event_bus, from_request
from meridian.ingestion.recent import RecentEvent
from meridian.ingestion.service import SEND_BUDGET_SECONDS, Ingestor
from meridian.inputs import parse_json
from meridian.observability import correlate, logger, name
from meridian.runs.cursor import encode_cursor
from meridian.runs.model import Position
from meridian.runs.volume import volume_by_type, volume_days
from meridian.wiring import Wiring

# What one message may take: a function that ends in the middle would have the whole batch delivered again.
MESSAGE_SECONDS = SEND_BUDGET_SECONDS + 3.0

app = make_resolver()
wiring = Wiring(Settings())


@cache
def ingestor() -> Ingestor:
    return Ingestor(
        wiring.runs,
        wiring.definitions,
        wiring.recent_events,
        wiring.ingress,
        check=wiring.check_definition,
        routing=wiring.routing,
        follow_ups=wiring.follow_ups,
    )


@app.post("/api/events")
@documented(
    "Takes an event in and starts a run of each workflow that receives it",
    {202: "IngestedEvent", 200: "IngestedEvent"},
    body=EventBody,
    problems=(404, 415, 503),
)
def post_event() -> Response[str]:
    event = _recorded_when_refused(lambda: from_request(app.current_event.headers, body_bytes(app.current_event)))
    name(eventId=event.id)
    ingestion = ingestor().ingest(event)
    return json_response(ingestion.as_json(), 202 if ingestion.started else 200)


@app.get("/api/events")
@documented(
    "Lists the receptions of the last seven days and what each started", {200: "ReceptionPage"}, query=(PageQuery,)
)
def recent_events() -> Response[str]:
    query = read_query(PageQuery, app.current_event)
    found = wiring.recent_events.page(query.after(), query.limit + 1)
    page = found[: query.limit]
    more = len(found) > query.limit
    return json_response(
        {
            "events": [_recent_event(event) for event in page],
            "nextCursor": encode_cursor(Position(page[-1].received_at, page[-1].id)) if more else None,
        }
    )


@app.get("/api/events/volume")
@documented("Counts distinct events by type and UTC day", {200: "EventVolume"})
def event_volume() -> Response[str]:
    days = volume_days(datetime.now(UTC).date())
    types = volume_by_type(wiring.runs.event_volume(since=days[0]), days)
    return json_response({"days": days, "types": types})


def process_messages(batch: dict[str, Any], context: LambdaContext) -> Any:
    """Events of the bus, through the queue: only the messages that failed are delivered again."""
    from aws_lambda_powertools.utilities.batch import (  # noqa: PLC0415 - a request by HTTP does not need it
        BatchProcessor,
        EventType,
        process_partial_response,
    )

    begun = 0

    def process(record: Any) -> None:
        nonlocal begun
        has_time = begun == 0 or context.get_remaining_time_in_millis() >= MESSAGE_SECONDS * 1000
        begun += has_time
        _process_message(record, has_time=has_time)

    processor = BatchProcessor(EventType.SQS, raise_on_entire_batch_failure=False)
    return process_partial_response(batch, process, processor, context)


def _process_message(record: Any, *, has_time: bool) -> None:
    try:
        correlate(record.message_id)
        if not has_time:
            raise Unavailable("The messages before it have taken the time.")
        event = _recorded_when_refused(lambda: from_event_bus(parse_json(record.body.encode())))
        name(eventId=event.id)
        ingestor().ingest(event)
    except ProblemError as problem:
        # The message goes back to its queue; one that no try can read ends in the dead-letter queue.
        level = logger.warning if isinstance(problem, Unavailable) else logger.error
        level("message not processed", extra={"messageId": record.message_id, "problem": problem.title})
        raise


def _recorded_when_refused(read: Any) -> Event:
    try:
        event: Event = read()
    except ProblemError as problem:
        ingestor().record_problem(problem)
        raise
    return event


def _recent_event(event: RecentEvent) -> dict[str, Any]:
    return {
        "id": event.id,
        "receivedAt": event.received_at,
        "eventId": event.event_id,
        "type": event.event_type,
        "source": event.source,
        "outcome": event.outcome,
        "runs": list(event.deliveries),
        "problem": event.problem,
    }


handler = http_handler(app, other=process_messages)
