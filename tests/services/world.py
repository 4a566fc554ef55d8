"""A run without I/O: what the engine asks for is answered from a list, and the clock goes by whole seconds."""

from __future__ import annotations

from typing import Any

import pytest

from meridian import jsontext
from meridian.engine.execution import Execution, RunFailed
from meridian.engine.model import Effect, RunInput, Tick

EVENT: dict[str, Any] = {
    "eventId": "e-1",
    "type": "observation.created",
    "source": "lab",
    "time": "2026-11-30T20:09:00Z",
    "subjects": {"patient": "p-42"},
    "data": jsontext.parse('{"code": "K", "value": 6.10}'),
}
END: dict[str, Any] = {"id": "done", "type": "end"}


def document(nodes: list[dict[str, Any]], **changes: Any) -> dict[str, Any]:
    return {
        "runId": "e-1:alert",
        "workflow": {"slug": "alert", "name": "Alert", "file": "alert.json", "version": 3, "hash": "h"},
        "spec": {"name": "Alert", "entries": [], "start": nodes[0]["id"], "nodes": nodes},
        "triggerId": "lab",
        "start": nodes[0]["id"],
        "event": EVENT,
        "subjects": {"patient": "p-42"},
        **changes,
    }


class World:
    """Answers the effects of an execution: ticks by a clock of whole seconds, the others from `answers`."""

    def __init__(self, nodes: list[dict[str, Any]], *answers: dict[str, Any], **changes: Any) -> None:
        self.execution = Execution(RunInput.parse(document(nodes, **changes)))
        self.effects: list[Effect] = []
        self.snapshots: list[dict[str, Any]] = []  # as each effect but a tick begins
        self._answers = list(answers)
        self._seconds = 0

    def run(self) -> Any:
        """The output of the run."""
        steps = self.execution.steps()
        answer: Any = None
        try:
            while True:
                effect = steps.send(answer)
                if isinstance(effect, Tick):
                    answer = {"at": self._time()}
                    continue
                self.effects.append(effect)
                self.snapshots.append(self.execution.snapshot)
                answer = {"at": self._time(), **self._answers.pop(0)}
        except StopIteration as end:
            return end.value

    def failure(self) -> RunFailed:
        with pytest.raises(RunFailed) as failed:
            self.run()
        return failed.value

    def _time(self) -> str:
        self._seconds += 1
        return f"2026-11-30T20:09:{self._seconds:02d}.000Z"


def decided(outcome: str) -> dict[str, Any]:
    return {"outcome": outcome, "by": "dr-7", "comment": None, "data": None}
