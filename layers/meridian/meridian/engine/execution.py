"""Walks a definition for one run, without I/O: a generator of effects that is sent their answers.

The same answers always give the same effects, so that Restate can replay a run from its journal. Time
moves only with answers: nodes without I/O begin and end at the time of the last one.
"""

from collections import Counter
from collections.abc import Generator, Mapping
from typing import Any, Literal

from meridian.engine.calls import CALLING_NODES
from meridian.engine.model import Ask, Call, Done, Effect, Json, NodeFailed, RunInput, Suspend, Tick
from meridian.engine.nodes import CONTROL_NODES, Evaluation, Visit
from meridian.engine.values import Carried, checked

MAX_VISITS = 1000

Steps = Generator[Effect, Json, Any]

_NODES: Mapping[str, Evaluation] = {**CONTROL_NODES, **CALLING_NODES}


class RunFailed(Exception):
    """The run has ended as failed, and its snapshot says so."""

    def __init__(self, node: str, reason: str, code: int) -> None:
        super().__init__(reason)
        self.node = node
        self.reason = reason
        self.code = code


class Execution:
    """One run. `steps` walks it; the attributes are what its snapshot shows at any time."""

    def __init__(self, run: RunInput) -> None:
        self.status: Literal["running", "suspended", "waiting", "completed", "failed"] = "running"
        self.finished: list[Json] = []  # trace entries of finished visits: only ever appended to
        self.at_work: Json | None = None  # trace entry of the node that waits for the answer of a call
        self.pending: Json | None = None
        self.waiting: Json | None = None
        self.error: Json | None = None
        self._run = run
        self._carried = Carried([run.event, run.definition.document], run.start_record)
        self._visits: Counter[str] = Counter()
        self._results: dict[str, Json] = {}  # {"status", "output"} of each node's last visit
        self._at = ""
        self._started_at = ""

    @property
    def trace(self) -> list[Json]:
        return self.finished if self.at_work is None else [*self.finished, self.at_work]

    @property
    def snapshot(self) -> Json:
        """What `getRun` answers."""
        return {
            "status": self.status,
            "trace": self.trace,
            "pending": self.pending,
            "waiting": self.waiting,
            "error": self.error,
        }

    def steps(self) -> Steps:
        """Executes the run. Returns the output of its end.

        :raises RunFailed: when a node failed.
        """
        yield from self._tick()
        self._started_at = self._at
        node_id: str | None = self._run.start
        output: Any = None
        while node_id is not None:
            try:
                done = yield from self._visit(node_id)
            except NodeFailed as failure:
                raise self._failed(node_id, failure) from None
            except Exception as error:  # our own fault: it must not be retried without end
                raise self._failed(node_id, NodeFailed(f"internal error: {type(error).__name__}")) from None
            output, node_id = done.output, done.next
        self.status = "completed"
        return output

    def _visit(self, node_id: str) -> Generator[Effect, Json, Done]:
        started_at = self._at
        evaluated = self._evaluate(node_id)
        shown: Json | None = None
        answer: Json = {}
        if isinstance(evaluated, Call):
            shown = evaluated.input
            self.at_work = _entry(node_id, "running", started_at, None, shown)
            yield from self._tick()
            answer = yield evaluated.effect
        elif isinstance(evaluated, Suspend):
            yield from self._tick()
            started_at = self._at
            answer = yield from self._suspend(evaluated)
        if not isinstance(evaluated, Done):
            self._at = answer["at"]
            evaluated = evaluated.complete(answer)
        self._carried.add(shown, answer, checked(evaluated.output, "the output"))
        self.at_work = None
        self.finished.append(_entry(node_id, "completed", started_at, self._at, shown, evaluated.output))
        self._results[node_id] = {"status": "completed", "output": evaluated.output}
        return evaluated

    def _evaluate(self, node_id: str) -> Done | Call | Suspend:
        if self._visits.total() == MAX_VISITS:
            raise NodeFailed(f"the run has visited {MAX_VISITS} nodes")
        self._visits[node_id] += 1
        node = self._run.definition.nodes.get(node_id)
        evaluation = _NODES.get(node["type"]) if node is not None else None
        if node is None or evaluation is None:
            raise NodeFailed("the definition has no such node")
        return evaluation(Visit(node, self._visits[node_id], self._run, self._scope()))

    def _suspend(self, suspension: Suspend) -> Generator[Effect, Json, Json]:
        effect = suspension.begin(self._at)
        if isinstance(effect, Ask):
            self.status, self.pending = "suspended", effect.pending
        else:
            self.status, self.waiting = "waiting", effect.waiting
        answer = yield effect
        self.status, self.pending, self.waiting = "running", None, None
        return answer

    def _tick(self) -> Generator[Effect, Json, None]:
        self._at = (yield Tick())["at"]

    def _scope(self) -> Json:
        """The scope of expressions. `nodes` is copied: a value that an expression takes from it stays as it is."""
        run = {
            "id": self._run.run_id,
            "workflow": self._run.slug,
            "version": self._run.workflow.get("version"),
            "triggerId": self._run.trigger_id,
            "subjects": dict(self._run.subjects),
            "startedAt": self._started_at,
        }
        return {"event": self._run.event, "nodes": dict(self._results), "run": run}

    def _failed(self, node_id: str, failure: NodeFailed) -> RunFailed:
        entry = self.at_work or _entry(node_id, "failed", self._at, None, None)
        error = {"reason": failure.reason, "code": failure.code}
        self.at_work = None
        self.finished.append({**entry, "status": "failed", "endedAt": self._at, "error": error})
        self.status = "failed"
        self.error = {"node": node_id, **error}
        return RunFailed(node_id, failure.reason, failure.code)


def _entry(
    node_id: str, status: str, started_at: str, ended_at: str | None, shown: Json | None, output: Any = None
) -> Json:
    return {
        "node": node_id,
        "status": status,
        "startedAt": started_at,
        "endedAt": ended_at,
        "input": shown,
        "output": output,
        "error": None,
    }
