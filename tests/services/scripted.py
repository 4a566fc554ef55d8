"""A workflow whose runs do as their input says, with the handlers and the snapshots of the engine.

It lets a test bring a run into any state, also into those that the engine itself avoids: an end that leaves no
terminal snapshot, a terminal error of any code, retries that are exhausted.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta
from typing import Any

import restate
from restate.exceptions import TerminalError
from restate.retry_policy import InvocationRetryPolicy

from meridian.restate.ingress import RECORD_SERVICE, WORKFLOW_SERVICE
from meridian.runs.snapshot import EMPTY

DECIDED_AT = "2026-11-30T20:09:00.123Z"  # a handler that is run again has to say the same
PAUSE_AFTER_TWO = InvocationRetryPolicy(
    initial_interval=timedelta(milliseconds=10), max_attempts=2, on_max_attempts="pause"
)


def scripted_endpoint(closures: list[dict[str, Any]], retention: timedelta = timedelta(days=1)) -> Any:
    """The services `meridianWorkflow` and `record`; what the latter is asked to close is added to `closures`.

    The input of a run is `{"at": time of its visits, "steps": [step, …]}`, where a step is one of:
    `{"do": "visit", "node"}`: a node that completes at once;
    `{"do": "ask", "node", "outcomes", "silent"}`: waits for a decision, shown in the snapshot unless `silent`;
    `{"do": "wait", "node"}`: waits to be resumed;
    `{"do": "end"}`: the terminal snapshot `completed`;
    `{"do": "fail", "code", "reason", "silent"}`: a terminal error, after the terminal snapshot unless `silent`;
    `{"do": "crash"}`: an error that is retried until the invocation is paused;
    `{"do": "sleep", "seconds"}`.
    """
    workflow = restate.Workflow(WORKFLOW_SERVICE, invocation_retry_policy=PAUSE_AFTER_TWO)
    record = restate.Service(RECORD_SERVICE)

    @workflow.main(workflow_retention=retention)
    async def run(ctx: restate.WorkflowContext, run_input: dict[str, Any]) -> None:
        trace: list[dict[str, Any]] = []

        def show(status: str, **parts: Any) -> None:
            ctx.set("snapshot", {**EMPTY, "status": status, "trace": list(trace), **parts})

        for step in run_input["steps"]:
            node = step.get("node")
            match step["do"]:
                case "visit":
                    trace.append(_visit(node, {}, run_input["at"]))
                    show("running")
                case "ask":
                    outcomes = step.get("outcomes", ["approved", "rejected"])
                    show("suspended", pending={"id": node, "node": node, "outcomes": outcomes})
                    decision = await ctx.promise(f"validation:{node}", type_hint=dict).value()
                    trace.append(_visit(node, decision, run_input["at"]))
                    if not step.get("silent"):
                        show("running")
                case "wait":
                    show("waiting", waiting={"id": node, "node": node, "until": None})
                    data = await ctx.promise(f"wait:{node}", type_hint=dict).value()
                    trace.append(_visit(node, {"resumed": True, **data}, run_input["at"]))
                    show("running")
                case "sleep":
                    await ctx.sleep(timedelta(seconds=step["seconds"]))
                case "crash":
                    raise RuntimeError("no")
                case "fail":
                    if not step.get("silent"):
                        show("failed", error={"node": node, "reason": step["reason"], "code": step["code"]})
                    raise TerminalError(step["reason"], step["code"])
                case "end":
                    show("completed")

    @workflow.handler(name="getRun")
    async def get_run(ctx: restate.WorkflowSharedContext) -> dict[str, Any]:
        return await ctx.get("snapshot", type_hint=dict) or EMPTY

    @workflow.handler()
    async def decide(ctx: restate.WorkflowSharedContext, decision: dict[str, Any]) -> dict[str, Any]:
        pending = (await ctx.get("snapshot", type_hint=dict) or EMPTY)["pending"]
        if not pending or pending["id"] != decision["pendingId"]:
            return {"accepted": False, "reason": "not_pending"}
        if decision["outcome"] not in pending["outcomes"]:
            return {"accepted": False, "reason": "unknown_outcome"}
        promise = ctx.promise(f"validation:{pending['id']}", type_hint=dict)
        taken = {name: decision.get(name) for name in ("outcome", "by", "comment", "data")}
        signal = ctx.request().id
        promise.resolve({**taken, "decidedAt": DECIDED_AT, "signal": signal})
        if (await promise.value())["signal"] != signal:
            return {"accepted": False, "reason": "already_decided"}
        return {"accepted": True, "reason": None}

    @workflow.handler()
    async def resume(ctx: restate.WorkflowSharedContext, resumption: dict[str, Any]) -> dict[str, Any]:
        waiting = (await ctx.get("snapshot", type_hint=dict) or EMPTY)["waiting"]
        if not waiting or waiting["id"] != resumption["waitId"]:
            return {"accepted": False, "reason": "not_pending"}
        await ctx.promise(f"wait:{waiting['id']}", type_hint=dict).resolve({"data": resumption.get("data")})
        return {"accepted": True, "reason": None}

    @record.handler(name="closeValidationRequest")
    async def close_validation_request(ctx: restate.Context, message: dict[str, Any]) -> None:
        closures.append(message)

    services: Iterable[Any] = [workflow, record]
    return restate.app(services, protocol="request_response")


def _visit(node: str, output: Any, at: str) -> dict[str, Any]:
    return {
        "node": node,
        "status": "completed",
        "startedAt": at,
        "endedAt": at,
        "input": None,
        "output": output,
        "error": None,
    }
