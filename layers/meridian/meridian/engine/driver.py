"""Carries the effects of an execution out on Restate, so that a replay finds every answer in the journal.

The snapshot is kept in pieces: state `snapshot` holds what changes, and each `trace.<n>` the entries that were
finished since the piece before. A journal holds every state that was ever set and is sent whole to a
Lambda function, 6 MB at most: with the trace in one state it would grow with the square of the run.
"""

import logging
from datetime import timedelta
from typing import Any

import restate
from restate.exceptions import TerminalError

from meridian import clock
from meridian.engine.execution import Execution, RunFailed
from meridian.engine.http import HttpCaller
from meridian.engine.memory import MemoryClient
from meridian.engine.model import Ask, Effect, HttpCall, Json, MemoryCall, Pause, RunInput, Tick
from meridian.engine.record import RecordPorts, closures, openings
from meridian.engine.serde import JSON

logger = logging.getLogger("meridian.engine")

RECORD = "record"  # the service that tells the record ports

PLACEHOLDER: Json = {"status": "running", "trace": [], "pending": None, "waiting": None, "error": None}

_STEP = restate.RunOptions[Any](serde=JSON)


class Driver:
    """Drives one run in its workflow invocation."""

    def __init__(
        self,
        ctx: restate.WorkflowContext,
        run: RunInput,
        http: HttpCaller,
        memory: MemoryClient,
        record_ports: RecordPorts,
    ) -> None:
        self._ctx = ctx
        self._run = run
        self._http = http
        self._memory = memory
        self._ports = record_ports
        self._execution = Execution(run)
        self._record_kinds: list[str] = []
        self._shown_entries = 0
        self._pieces = 0

    async def drive(self) -> Any:
        """Executes the run to its end and returns its output.

        Errors at an await are Restate's: the run was cancelled, or the attempt ends here and will be replayed.
        They pass through, and the snapshot stays as it is.

        :raises TerminalError: with the reason and the code of the node that failed.
        """
        steps = self._execution.steps()
        answer: Json | None = None
        try:
            while True:
                effect = steps.send(answer)  # type: ignore[arg-type] # the first send takes None
                self._show()
                answer = await self._perform(effect)
        except StopIteration as end:
            self._show()
            logger.info("run completed", extra=self._where)
            return end.value
        except RunFailed as failure:
            self._show()
            extra = {**self._where, "node": failure.node, "reason": failure.reason, "code": failure.code}
            logger.info("run failed", extra=extra)
            raise TerminalError(failure.reason, failure.code) from None

    async def _perform(self, effect: Effect) -> Json:
        match effect:
            case Tick():
                tick: Json = await self._ctx.run_typed("tick", self._tick, _STEP)
                self._record_kinds = tick["recordKinds"]
                return tick
            case HttpCall():
                return await self._ctx.run_typed("http", self._http.call, _STEP, effect)
            case MemoryCall(operation, body):
                calls = {"read": self._memory.read, "write": self._memory.write, "forget": self._memory.forget}
                return await self._ctx.run_typed(f"memory.{operation}", calls[operation], _STEP, body)
            case Ask(pending):
                return await self._ask(pending)
            case Pause(waiting, seconds):
                return await self._pause(waiting, seconds)

    async def _tick(self) -> Json:
        """The time, and the record ports as they are now: a replay must not see other ones."""
        return {"at": clock.now(), "recordKinds": self._ports.kinds}

    async def _ask(self, pending: Json) -> Json:
        kinds = self._record_kinds
        self._tell("openValidationRequest", openings(self._run, pending, kinds))
        decision: Json = await self._ctx.promise(f"validation:{pending['id']}", JSON).value()
        self._tell("closeValidationRequest", closures(self._run, pending, decision, kinds))
        return decision

    def _tell(self, handler: str, messages: list[Json]) -> None:
        """Sends to the record service; that it is sent once is the journal's doing."""
        for message in messages:
            self._ctx.generic_send(RECORD, handler, JSON.serialize(message))

    async def _pause(self, waiting: Json, seconds: int | None) -> Json:
        """Waits for the promise of the wait. When the time is over the run resolves it itself: whoever comes
        first has decided, and a resume that comes later is told so."""
        promise = self._ctx.promise(f"wait:{waiting['id']}", JSON)
        if seconds is not None:
            timer = self._ctx.sleep(timedelta(seconds=seconds))
            first, _ = await restate.select(resumed=promise.value(), timeout=timer)
            if first == "timeout":
                promise.resolve({"resumed": False, "data": None, "at": waiting["until"], "signal": None})
        answer: Json = await promise.value()
        return answer

    def _show(self) -> None:
        """Sets the state that `read_snapshot` reads."""
        execution = self._execution
        new = execution.finished[self._shown_entries :]
        if new:
            self._ctx.set(f"trace.{self._pieces}", new, JSON)
            self._shown_entries += len(new)
            self._pieces += 1
        at_work = [execution.at_work] if execution.at_work is not None else []
        self._ctx.set("snapshot", {**execution.snapshot, "trace": at_work, "pieces": self._pieces}, JSON)

    @property
    def _where(self) -> Json:
        return {"runId": self._run.run_id, "workflow": self._run.slug}


async def read_snapshot(ctx: restate.WorkflowSharedContext) -> Json:
    """The snapshot of the run, the placeholder for a key that never ran or that Restate has forgotten."""
    head = await ctx.get("snapshot", JSON)
    if head is None:
        return PLACEHOLDER
    trace: list[Json] = []
    for number in range(head.pop("pieces")):
        trace += await ctx.get(f"trace.{number}", JSON) or []
    return {**head, "trace": trace + head["trace"]}
