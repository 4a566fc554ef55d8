"""The verdict of a settlement, as a table."""

import pytest

from meridian.restate.ingress import OutputAnswer
from meridian.runs.model import RunRow
from meridian.runs.snapshot import EMPTY
from meridian.settlement.verdict import (
    Adopt,
    Freeze,
    Leave,
    Live,
    is_waiting,
    may_freeze,
    verdict,
    was_stopped,
    withdrawn_request,
)

OWN = "http://restate:8080"
OTHER = "http://elsewhere:8080"

LIVE = OutputAnswer("live")
UNKNOWN = OutputAnswer("unknown")
COMPLETED = OutputAnswer("completed")
KILLED = OutputAnswer("failed", 409, "killed")
CANCELLED = OutputAnswer("failed", 409, "cancelled")


def failed(code: int, message: str = "no") -> OutputAnswer:
    return OutputAnswer("failed", code, message)


def snapshot(status: str, **parts: object) -> dict[str, object]:
    return {**EMPTY, "status": status, **parts}


VISIT: dict[str, object] = {
    "node": "a",
    "status": "completed",
    "startedAt": "t",
    "endedAt": "t",
    "output": {},
    "error": None,
}
PENDING = {"id": "ask", "node": "ask"}

RUNNING = snapshot("running", trace=[VISIT])
SUSPENDED = snapshot("suspended", trace=[VISIT], pending=PENDING)
FIRST_NODE_SUSPENDED = snapshot("suspended", pending=PENDING)
WAITING = snapshot("waiting", waiting={"id": "w", "node": "w"})
DONE = snapshot("completed", trace=[VISIT])
DONE_WITHOUT_A_NODE = snapshot("completed")
BROKEN = snapshot("failed", trace=[VISIT], error={"node": "a", "reason": "no", "code": 500})


def row(restate_url: str | None = OWN) -> RunRow:
    values: dict[str, object] = dict.fromkeys(RunRow._fields)
    values |= {"id": "e:w", "service": "meridianWorkflow", "workflow_name": "W", "restate_url": restate_url}
    values["created_at"] = "2026-11-30T20:09:00.123Z"
    return RunRow(**values)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("restate_url", "answer", "last", "expected"),
    [
        # not ended
        (OWN, LIVE, None, Live()),
        (OTHER, LIVE, None, Adopt(OWN)),
        (None, LIVE, None, Adopt(OWN)),
        # ended: the terminal snapshot wins over whatever the invocation says
        (OWN, COMPLETED, DONE, Freeze("completed", "completed")),
        (OWN, COMPLETED, DONE_WITHOUT_A_NODE, Freeze("completed", "completed")),
        (OWN, COMPLETED, BROKEN, Freeze("failed", "failed")),
        (OWN, failed(422), BROKEN, Freeze("failed", "failed")),
        (OWN, KILLED, DONE, Freeze("completed", "completed")),
        (OWN, KILLED, BROKEN, Freeze("failed", "failed")),  # a `fail` node may itself say 409 "killed"
        (OWN, UNKNOWN, DONE, Freeze("completed", "completed")),
        (OTHER, UNKNOWN, BROKEN, Freeze("failed", "failed")),
        (OTHER, COMPLETED, DONE, Freeze("completed", "completed", OWN)),
        # ended without having written its end
        (OWN, COMPLETED, RUNNING, Freeze("completed", "completed")),
        (OWN, COMPLETED, EMPTY, Freeze("completed", "completed")),
        (OWN, KILLED, RUNNING, Freeze("failed", "killed")),
        (OWN, KILLED, SUSPENDED, Freeze("failed", "killed")),
        (OWN, KILLED, WAITING, Freeze("failed", "killed")),
        (OWN, KILLED, EMPTY, Freeze("failed", "killed")),
        (OWN, CANCELLED, SUSPENDED, Freeze("failed", "killed")),
        (None, KILLED, SUSPENDED, Freeze("failed", "killed", OWN)),
        (OTHER, failed(500), RUNNING, Freeze("failed", "failed", OWN)),
        # the run's own codes mean nothing but failure, whatever they look like
        (OWN, failed(404), RUNNING, Freeze("failed", "failed")),
        (OWN, failed(470), RUNNING, Freeze("failed", "failed")),
        (OWN, failed(409, "conflict"), RUNNING, Freeze("failed", "failed")),
        (OWN, failed(500, "killed"), RUNNING, Freeze("failed", "failed")),
        # unknown to its own Restate: lost, unless its state is still there
        (OWN, UNKNOWN, EMPTY, Freeze("failed", "lost")),
        (OWN, UNKNOWN, None, Freeze("failed", "lost")),
        (OWN, UNKNOWN, RUNNING, Leave(foreign=False)),
        (OWN, UNKNOWN, FIRST_NODE_SUSPENDED, Leave(foreign=False)),
        (OWN, UNKNOWN, WAITING, Leave(foreign=False)),
        # unknown here, and not this Restate's to say
        (OTHER, UNKNOWN, EMPTY, Leave(foreign=True)),
        (OTHER, UNKNOWN, None, Leave(foreign=True)),
        (OTHER, UNKNOWN, SUSPENDED, Leave(foreign=True)),
        (None, UNKNOWN, EMPTY, Leave(foreign=True)),
        (None, UNKNOWN, None, Leave(foreign=True)),
    ],
)
def test_verdict(restate_url, answer, last, expected):
    assert verdict(row(restate_url), OWN, answer, last) == expected


@pytest.mark.parametrize(
    ("answer", "stopped"),
    [
        (KILLED, True),
        (CANCELLED, True),
        (failed(409, "Killed"), False),
        (failed(500, "killed"), False),
        (LIVE, False),
        (COMPLETED, False),
    ],
)
def test_only_restates_own_words_say_that_an_operator_stopped_a_run(answer, stopped):
    assert was_stopped(answer) is stopped


@pytest.mark.parametrize(
    ("last", "by_read"),
    [
        (DONE, True),
        (BROKEN, True),
        (SUSPENDED, True),
        (WAITING, True),
        (RUNNING, False),  # killed while its last snapshot is running: waits for the pass
        (EMPTY, False),
        (None, False),
    ],
)
def test_a_read_freezes_what_is_terminal_or_waits_and_the_pass_everything(last, by_read):
    assert may_freeze("read", last) is by_read
    assert may_freeze("sweep", last) is True


def test_waiting_is_suspended_or_waiting():
    assert [is_waiting(last) for last in (SUSPENDED, WAITING, RUNNING, DONE, None)] == [True, True] + [False] * 3


@pytest.mark.parametrize(
    ("frozen", "last", "request_id"),
    [
        (Freeze("failed", "killed"), SUSPENDED, "ask"),
        (Freeze("failed", "failed"), FIRST_NODE_SUSPENDED, "ask"),
        (Freeze("failed", "killed"), WAITING, None),
        (Freeze("failed", "killed"), RUNNING, None),
        (Freeze("failed", "killed"), None, None),
        (Freeze("failed", "lost"), EMPTY, None),
        (Freeze("completed", "completed"), SUSPENDED, None),
        (Freeze("failed", "failed"), {**SUSPENDED, "status": "failed"}, None),  # the run closed it itself
    ],
)
def test_the_request_of_a_run_that_was_stopped_while_it_waited_is_withdrawn(frozen, last, request_id):
    assert withdrawn_request(frozen, last) == request_id
