"""How runs end on a real Restate, and what the pass makes of it: each ends as it should, once."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from meridian.restate.admin import Admin
from tests.services.stage import ASK, END, VISIT, WAIT, Stage, logged

KILLED_LINE = "run arrêté dans Restate : statut figé en échec"
FAILED_LINE = "run en échec dans Restate : statut figé en échec"
LOST_LINE = "run absent de Restate : statut figé en échec"


@pytest.fixture(params=["by ingress calls", "by introspection"])
def introspection(request, restate):
    """The same cases through both ways of finding what ended."""
    if request.param == "by ingress calls":
        yield None
        return
    admin = Admin(restate.admin_url)
    yield admin
    admin.close()


def fail(code: int, *, silent: bool, reason: str = "no bed is free") -> dict[str, object]:
    return {"do": "fail", "node": "x", "code": code, "reason": reason, "silent": silent}


def freeze_lines(caplog: pytest.LogCaptureFixture) -> list[Any]:
    return [line for line in logged(caplog) if "statut figé" in line.message]


def settle_twice(stage: Stage, introspection, caplog: pytest.LogCaptureFixture) -> dict[tuple[str, str], int]:
    """Two passes; the second finds nothing more to do. What was counted."""
    caplog.set_level(logging.DEBUG, logger="meridian.runs")
    stage.sweep(introspection=introspection)
    counted = stage.counted.take()
    again = stage.sweep(introspection=introspection)
    assert again["frozen"] == 0
    assert stage.counted.take() == {}
    return counted


def test_a_completed_run(stage, introspection, caplog):
    run_id = stage.start(VISIT, END)
    stage.until_ended(run_id)

    assert settle_twice(stage, introspection, caplog) == {("completed", "sweep"): 1}

    assert stage.row(run_id).final_status == "completed"
    assert stage.store.get_snapshot(run_id)["trace"][0]["node"] == "first"
    assert freeze_lines(caplog) == []


@pytest.mark.parametrize("silent", [False, True], ids=["with its terminal snapshot", "without one"])
@pytest.mark.parametrize("code", [422, 404, 409, 470])
def test_a_run_that_fails_with_any_code(stage, introspection, caplog, code, silent):
    run_id = stage.start(VISIT, fail(code, silent=silent))
    stage.until_ended(run_id)

    assert settle_twice(stage, introspection, caplog) == {("failed", "sweep"): 1}

    assert stage.row(run_id).final_status == "failed"
    (line,) = freeze_lines(caplog)
    assert (line.message, line.levelname) == (FAILED_LINE, "WARNING")
    told = (line.runId, line.workflow, line.code, line.failure)
    assert told == (run_id, "alert", code, "no bed is free")


@pytest.mark.parametrize("word", ["killed", "cancelled"])
def test_a_run_that_says_itself_that_it_was_killed_has_failed(stage, introspection, caplog, word):
    run_id = stage.start(fail(409, silent=False, reason=word))
    stage.until_ended(run_id)

    assert settle_twice(stage, introspection, caplog) == {("failed", "sweep"): 1}
    assert freeze_lines(caplog)[0].message == FAILED_LINE


@pytest.mark.parametrize("stopped_by", ["kill", "cancel"])
@pytest.mark.parametrize(
    ("steps", "status"),
    [
        ([VISIT, {"do": "sleep", "seconds": 600}], "running"),
        ([VISIT, ASK, END], "suspended"),
        ([VISIT, WAIT, END], "waiting"),
    ],
    ids=["running", "suspended on a validation", "waiting"],
)
def test_a_run_that_an_operator_stops(stage, introspection, caplog, stopped_by, steps, status):
    run_id = stage.start(*steps)
    stage.until(run_id, status)
    getattr(stage, stopped_by)(run_id)

    assert settle_twice(stage, introspection, caplog) == {("killed", "sweep"): 1}

    assert stage.row(run_id).final_status == "failed"
    assert stage.store.get_snapshot(run_id)["status"] == status
    (line,) = freeze_lines(caplog)
    assert (line.message, line.levelname) == (KILLED_LINE, "INFO")
    assert (line.runId, line.workflow) == (run_id, "alert")
    assert line.failure == {"kill": "killed", "cancel": "cancelled"}[stopped_by]


def test_a_run_that_is_paused_after_exhausted_retries_is_live(stage, introspection, caplog):
    run_id = stage.start(VISIT, {"do": "crash"})
    stage.until_invocation(run_id, "paused")

    assert settle_twice(stage, introspection, caplog) == {}

    assert stage.row(run_id).final_status is None
    stage.kill(run_id)
    assert settle_twice(stage, introspection, caplog) == {("killed", "sweep"): 1}


def test_runs_that_go_on_are_live(stage, introspection, caplog):
    waiting, suspended = stage.start(WAIT, END), stage.start(ASK, END)
    stage.until(waiting, "waiting")
    stage.until(suspended, "suspended")

    result = stage.sweep(introspection=introspection)

    assert (result["live"], result["frozen"]) == (2, 0)
    assert stage.counted.take() == {}
    assert stage.row(waiting).final_status is None


def test_a_run_that_restate_never_saw_is_lost(stage, introspection, caplog):
    run_id = stage.index()

    assert settle_twice(stage, introspection, caplog) == {("lost", "sweep"): 1}

    assert stage.row(run_id).final_status == "failed"
    assert stage.store.get_snapshot(run_id) is None
    (line,) = freeze_lines(caplog)
    assert (line.message, line.levelname) == (LOST_LINE, "WARNING")
    assert (line.runId, line.workflow) == (run_id, "alert")


def test_a_run_without_restate_of_origin_is_adopted_when_known_and_never_frozen_when_not(stage, introspection, caplog):
    known = stage.start(WAIT, END, restate_url=None)
    moved = stage.start(WAIT, END, restate_url="http://old-name:8080")
    ended = stage.start(VISIT, END, restate_url=None)
    unknown = stage.index(restate_url=None)
    stage.until(known, "waiting")
    stage.until(moved, "waiting")
    stage.until_ended(ended)

    result = stage.sweep(introspection=introspection)

    assert (result["adopted"], result["frozen"], result["foreign"]) == (2, 1, 1)
    assert {stage.row(run_id).restate_url for run_id in (known, moved, ended)} == {stage.ingress.url}
    assert (stage.row(unknown).final_status, stage.row(unknown).restate_url) == (None, None)
    # from then on it is this Restate's own: nothing is left to adopt
    assert stage.sweep(introspection=introspection)["adopted"] == 0


def test_the_freeze_is_dated_by_the_settlement(stage, introspection):
    run_id = stage.start(VISIT, END)
    stage.until_ended(run_id)
    ended = stage.snapshot(run_id)["trace"][-1]["endedAt"]

    stage.sweep(introspection=introspection)

    assert stage.row(run_id).updated_at > ended
