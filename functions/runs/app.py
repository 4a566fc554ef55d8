"""Runs: the list, the detail, the signals to them, and whether the control plane is up."""

from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Annotated, Any

from aws_lambda_powertools.event_handler import Response
from pydantic import AfterValidator, Field, StringConstraints

from meridian.api import (
    documentation,
    http_handler,
    json_response,
    make_resolver,
    read_body,
    read_query,
    request_path_parameter,
)
from meridian.api.documentation import documented
from meridian.api.paging import PageQuery
from meridian.clock import text
from meridian.config import Settings
from meridian.observability import count_settled
from meridian.runs.cursor import encode_cursor
from meridian.runs.model import RunFilter, RunRow, StatusFilter
from meridian.runs.reading import READ_BUDGET_SECONDS, RunReader
from meridian.signals.feed import DecisionFeed
from meridian.signals.model import Signal
from meridian.signals.requests import DecisionBody, FeedBody, ResumptionBody
from meridian.signals.service import Signals
from meridian.wiring import Wiring

# Made by scripts/openapi.py.
OPENAPI_FILE = Path(documentation.__file__).with_name("openapi.json")

app = make_resolver()
wiring = Wiring(Settings())


@cache
def reader() -> RunReader:
    return RunReader(
        wiring.runs,
        wiring.ingress,
        wiring.find_spec,
        count=count_settled,
        settle=lambda run, _: wiring.settlement.final_status(run, lambda: READ_BUDGET_SECONDS),
    )


@cache
def signals() -> Signals:
    return Signals(wiring.settlement, wiring.follow_ups)


@cache
def decision_feed() -> DecisionFeed:
    return DecisionFeed(signals(), wiring.runs)


def _instant(value: str) -> str:
    """A date, or a date and time with an offset, as the index writes it."""
    try:
        moment = datetime.fromisoformat(value)
    except ValueError:
        raise ValueError("must be a date, or a date and time, as in 2026-11-30T20:09:00Z") from None
    if moment.tzinfo is None:
        if "T" in value or " " in value:
            raise ValueError("must have an offset, as in 2026-11-30T20:09:00Z")
        moment = moment.replace(tzinfo=UTC)
    try:
        return text(moment)
    except OverflowError:
        raise ValueError("must be a time between the years 1 and 9999 of UTC") from None


def _subject(value: str) -> str:
    kind, colon, subject_id = value.partition(":")
    if not (kind and colon and subject_id):
        raise ValueError("must be a kind and an id, as in patient:p-42")
    return value


Text = Annotated[str, StringConstraints(min_length=1, max_length=300)]
Subject = Annotated[Text, AfterValidator(_subject), Field(json_schema_extra={"pattern": "^[^:]+:."})]
Instant = Annotated[
    str,
    AfterValidator(_instant),
    Field(json_schema_extra={"anyOf": [{"format": "date"}, {"format": "date-time"}]}),
]


class RunQuery(PageQuery):
    """Which runs; all filters hold together."""

    workflow: Text | None = Field(None, description="The workflow's slug or file.")
    trigger: Text | None = Field(None, description="The entry, for workflows with several.")
    event: Text | None = Field(None, description="The event that started the run.")
    event_type: Text | None = Field(None, alias="eventType")
    status: StatusFilter | None = None
    subject: Subject | None = Field(None, description="A kind and an id, matched exactly: `patient:p-42`.")
    created_from: Instant | None = Field(None, alias="from", description="Inclusive.")
    created_to: Instant | None = Field(None, alias="to", description="Exclusive.")

    def as_filter(self) -> RunFilter:
        kind, _, subject_id = (self.subject or "").partition(":")
        return RunFilter(
            workflow=self.workflow,
            trigger=self.trigger,
            event=self.event,
            event_type=self.event_type,
            status=self.status,
            subject=(kind, subject_id) if self.subject else None,
            created_from=self.created_from,
            created_to=self.created_to,
        )


@app.get("/api/runs")
@documented("Lists runs, newest first", {200: "RunPage"}, query=(RunQuery,))
def list_runs() -> Response[str]:
    query = read_query(RunQuery, app.current_event)
    page = reader().page(query.as_filter(), query.after(), query.limit)
    return json_response(
        {
            "runs": [_run(listed.run) | {"status": listed.status} for listed in page.runs],
            "nextCursor": encode_cursor(page.next) if page.next is not None else None,
        }
    )


@app.get("/api/runs/<id>")
@documented(
    "Reads a run with its snapshot and the definition that it was started with", {200: "RunDetail"}, problems=(404,)
)
def get_run(id: str) -> Response[str]:  # noqa: A002 - named as the route is; read decoded from the event
    view = reader().detail(request_path_parameter(app, "id"))
    return json_response(
        _run(view.run)
        | {
            "status": view.status,
            "event": view.event,
            "snapshot": view.snapshot,
            "nodeStatus": view.node_status,
            "spec": view.spec,
            "source": view.source,
        }
    )


@app.post("/api/decide/<runId>/<nodeId>")
@documented(
    "Decides a validation that a run waits for",
    {200: "Applied", 202: "NotKnownYet"},
    body=DecisionBody,
    problems=(404, 409, 503),
)
def decide(runId: str, nodeId: str) -> Response[str]:  # noqa: N803 - named as the route is; read from the event
    body = read_body(DecisionBody, app.current_event)
    return _signalled(body.decision(request_path_parameter(app, "nodeId")))


@app.post("/api/resume/<runId>/<nodeId>")
@documented(
    "Resumes a wait of a run",
    {200: "Applied", 202: "NotKnownYet"},
    body=ResumptionBody,
    problems=(404, 409, 503),
)
def resume(runId: str, nodeId: str) -> Response[str]:  # noqa: N803
    body = read_body(ResumptionBody, app.current_event)
    return _signalled(body.resumption(request_path_parameter(app, "nodeId")))


@app.post("/api/decisions")
@documented("Takes up to a hundred decisions, each answered for itself", {200: "FeedAnswers"}, body=FeedBody)
def decide_many() -> Response[str]:
    answers = decision_feed().take(read_body(FeedBody, app.current_event).as_feed())
    return json_response({"results": [answer.as_json() for answer in answers]})


def _signalled(signal: Signal) -> Response[str]:
    """200 when a snapshot shows the signal applied, 202 while none does."""
    if signals().send(request_path_parameter(app, "runId"), signal) == "accepted":
        return json_response({"applied": None}, 202)
    return json_response({"applied": True})


@app.get("/api/openapi.json")
@documented("Describes this API", {200: "OpenApiDocument"})
def describe() -> Response[str]:
    return Response(200, "application/json", OPENAPI_FILE.read_text(), {"Cache-Control": "no-cache"})


@app.get("/healthz")
@documented("Tells that the function runs", {200: "Alive"})
def healthz() -> Response[str]:
    return json_response({"status": "ok"})


@app.get("/readyz")
@documented("Tells whether the run store and Restate answer", {200: "Readiness", 503: "Readiness"})
def readyz() -> Response[str]:
    """Ready when the run store and Restate's ingress both answer."""
    checks = wiring.readiness()
    ready = all(checks.values())
    return json_response({"status": "ready" if ready else "unavailable", "checks": checks}, 200 if ready else 503)


def _run(run: RunRow) -> dict[str, Any]:
    return {
        "id": run.id,
        "service": run.service,
        "workflowFile": run.workflow_file,
        "workflowName": run.workflow_name,
        "workflowSlug": run.workflow_slug,
        "specVersion": run.spec_version,
        "specHash": run.spec_hash,
        "subjects": run.subjects,
        "sourceEventId": run.source_event_id,
        "routeMatch": run.route_match,
        "eventType": run.event_type,
        "triggerId": run.trigger_id,
        "createdAt": run.created_at,
        "updatedAt": run.updated_at,
        "finalStatus": run.final_status,
        "journalFormat": run.journal_format,
        "restateUrl": run.restate_url,
    }


handler = http_handler(app)
