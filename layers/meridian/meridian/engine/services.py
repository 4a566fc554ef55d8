"""The services that the engine offers on Restate: the workflow of a run, and the record of validations."""

from __future__ import annotations

import logging
from datetime import timedelta
from typing import Any

import restate
from restate.exceptions import TerminalError

from meridian import clock
from meridian.correlation import HEADER
from meridian.engine.driver import RECORD, Driver, read_snapshot
from meridian.engine.http import HttpCaller
from meridian.engine.model import InvalidRunInput, Json, RunInput
from meridian.engine.serde import JSON
from meridian.engine.settings import EngineSettings
from meridian.text import unstorable

logger = logging.getLogger("meridian.engine")

WORKFLOW = "meridianWorkflow"

RECORD_RETRY = timedelta(hours=1)

_BAD_REQUEST = 400


def engine_services(settings: EngineSettings) -> list[restate.Workflow | restate.Service]:
    """The services of one engine, to be given to `restate.app`."""
    _keep_values_out_of_logs()
    return [_workflow(settings), _record(settings)]


def _workflow(settings: EngineSettings) -> restate.Workflow:
    """`meridianWorkflow`: a run, keyed by its id. Its state is kept for `settings.retention` after its end."""
    workflow = restate.Workflow(WORKFLOW)
    http = HttpCaller()

    @workflow.main(name="run", input_serde=JSON, output_serde=JSON, workflow_retention=settings.retention)
    async def run(ctx: restate.WorkflowContext, document: Any) -> Any:
        """Executes the run; returns the output of its end."""
        try:
            run_input = RunInput.parse(document)
        except InvalidRunInput as error:
            raise TerminalError(str(error), _BAD_REQUEST) from None
        _log_attempt(ctx.request(), run_input)
        ctx.set("start", run_input.start_record, JSON)
        return await Driver(ctx, run_input, http, settings.memory, settings.record_ports).drive()

    @workflow.handler(name="getRun", output_serde=JSON)
    async def get_run(ctx: restate.WorkflowSharedContext) -> Json:
        """The snapshot of the run; the empty placeholder when nothing is known of it."""
        return await read_snapshot(ctx)

    @workflow.handler(name="getStart", output_serde=JSON)
    async def get_start(ctx: restate.WorkflowSharedContext) -> Any:
        """What started the run: `{"workflow", "triggerId", "routeMatch", "receivedAt", "event", "spec"}`, or null."""
        return await ctx.get("start", JSON)

    @workflow.handler(name="decide", input_serde=JSON, output_serde=JSON)
    async def decide(ctx: restate.WorkflowSharedContext, document: Any) -> Json:
        """Answers the validation that the run waits for, and that one alone: the first decision wins."""
        decision = _signal(document, "pendingId")
        pending = (await read_snapshot(ctx))["pending"]
        if pending is None or pending["id"] != decision["pendingId"]:
            return _refused("not_pending")
        if decision.get("outcome") not in pending["outcomes"]:
            return _refused("unknown_outcome")
        answer = {name: decision.get(name) for name in ("outcome", "by", "comment", "data")}
        won = await _resolve(ctx, f"validation:{pending['id']}", answer)
        return _ACCEPTED if won else _refused("already_decided")

    @workflow.handler(name="resume", input_serde=JSON, output_serde=JSON)
    async def resume(ctx: restate.WorkflowSharedContext, document: Any) -> Json:
        """Resumes the wait node that the run waits at."""
        resumption = _signal(document, "waitId")
        waiting = (await read_snapshot(ctx))["waiting"]
        if waiting is None or waiting["id"] != resumption["waitId"]:
            return _refused("not_pending")
        answer = {"resumed": True, "data": resumption.get("data")}
        won = await _resolve(ctx, f"wait:{waiting['id']}", answer)
        return _ACCEPTED if won else _refused("already_decided")

    return workflow


def _record(settings: EngineSettings) -> restate.Service:
    """`record`: tells the record ports of validation requests, each call retried for up to one hour."""
    service = restate.Service(RECORD)
    ports = settings.record_ports
    options = restate.RunOptions[Any](
        serde=JSON,
        max_duration=RECORD_RETRY,
        initial_retry_interval=timedelta(seconds=1),
        max_retry_interval=timedelta(minutes=1),
    )

    @service.handler(name="openValidationRequest", input_serde=JSON, output_serde=JSON)
    async def open_validation_request(ctx: restate.Context, message: Any) -> None:
        """`{"kind", "id", "request"}`: shows a request beside the record of the subject."""
        await ctx.run_typed("open", ports.open, options, _message(message, "request"))

    @service.handler(name="closeValidationRequest", input_serde=JSON, output_serde=JSON)
    async def close_validation_request(ctx: restate.Context, message: Any) -> None:
        """`{"kind", "id", "closure"}`: closes it, as decided or withdrawn."""
        await ctx.run_typed("close", ports.close, options, _message(message, "closure"))

    return service


def _log_attempt(request: Any, run_input: RunInput) -> None:
    """Each attempt begins with this line; the id in it is that of the request that started the run."""
    names = {
        "runId": run_input.run_id,
        "eventId": run_input.event.get("eventId"),
        "correlation_id": request.headers.get(HEADER),
    }
    logger.info("run executed", extra=names)


_ACCEPTED: Json = {"accepted": True, "reason": None}


def _refused(reason: str) -> Json:
    return {"accepted": False, "reason": reason}


async def _resolve(ctx: restate.WorkflowSharedContext, name: str, answer: Json) -> bool:
    """Resolves a promise with this signal; false when another came first. The promise is the one referee.

    The resolution is not awaited: that it came too late is told by the value that the promise has.
    """
    at = await ctx.run_typed("now", _now, restate.RunOptions[Any](serde=JSON))
    promise = ctx.promise(name, JSON)
    signal_id = ctx.request().id
    promise.resolve({**answer, "at": at, "signal": signal_id})
    won: bool = (await promise.value())["signal"] == signal_id
    return won


async def _now() -> str:
    return clock.now()


def _signal(document: Any, id_field: str) -> Json:
    """:raises TerminalError: for what is no signal; without it Restate would retry the handler for ever."""
    if not isinstance(document, dict) or not isinstance(document.get(id_field), str):
        raise TerminalError(f"the signal has no valid {id_field}", _BAD_REQUEST)
    if unstorable(document) is not None:
        raise TerminalError("the signal has text that cannot be stored", _BAD_REQUEST)
    return document


def _message(message: Any, part: str) -> Json:
    valid = (
        isinstance(message, dict)
        and isinstance(message.get("kind"), str)
        and isinstance(message.get(part), dict)
        and isinstance(message[part].get("requestId"), str)
    )
    if not valid:
        raise TerminalError(f"the message has no valid kind or {part}", _BAD_REQUEST)
    checked: Json = message
    return checked


class _WithoutValues(logging.Filter):
    """Replaces a logged exception by its type: its message may hold a value of the run."""

    def filter(self, record: logging.LogRecord) -> bool:
        error = record.exc_info[1] if isinstance(record.exc_info, tuple) else None
        if error is not None:
            record.msg, record.args = f"{record.getMessage()}: {type(error).__name__}", ()
            record.exc_info = None
        return True


def _keep_values_out_of_logs() -> None:
    for name in ("restate.server", "restate.server_context"):
        logger = logging.getLogger(name)
        if not any(isinstance(filter_, _WithoutValues) for filter_ in logger.filters):
            logger.addFilter(_WithoutValues())
    for name in ("httpx", "httpcore"):  # they log addresses, which may name a subject
        logging.getLogger(name).setLevel(logging.WARNING)
