"""Decisions and resumptions on a real Restate: the answer is what the engine made of them."""

from __future__ import annotations

import random
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest

from meridian.errors import InvalidInput, NotFound, RestateUnavailable
from meridian.restate.ingress import Ingress
from meridian.signals.model import AnsweredOtherwise, Decision, NotPending, Resumption, RunEnded, standing
from meridian.signals.service import Signals
from tests.services.restate import running_restate
from tests.services.stage import ASK, END, VISIT, WAIT, Stage, staged

APPROVE = Decision("ask", "approved", "dr-a", "ok", {"dose": 2})
NO_VALIDATION = "run terminé : aucune validation en attente"
NO_WAIT = "run terminé : aucune attente en cours"


def suspended(stage: Stage, *more: dict[str, Any]) -> str:
    run_id = stage.start(VISIT, ASK, *(more or (END,)))
    stage.until(run_id, "suspended")
    return run_id


def unreachable() -> Ingress:
    """An ingress that fails the test when it is called."""

    def refuse(request: httpx.Request) -> httpx.Response:
        raise AssertionError(f"Restate was called: {request.url}")

    return Ingress("http://restate", transport=httpx.MockTransport(refuse))


def test_a_decision_is_applied_and_its_run_frozen(stage, signals, follow_ups):
    run_id = suspended(stage)

    assert signals.send(run_id, APPROVE) == "applied"

    assert standing(APPROVE, stage.snapshot(run_id)) == "applied"
    assert follow_ups.run_ids == [run_id]
    stage.until_ended(run_id)
    assert stage.settlement().settle_by_id(run_id)  # what the follow-up does
    assert stage.row(run_id).final_status == "completed"
    assert stage.counted.take() == {("completed", "read"): 1}


def test_a_resumption_is_applied(stage, signals, follow_ups):
    run_id = stage.start(WAIT, END)
    stage.until(run_id, "waiting")

    assert signals.send(run_id, Resumption("pause", {"bed": 7})) == "applied"

    assert standing(Resumption("pause", {"bed": 7}), stage.snapshot(run_id)) == "applied"
    assert follow_ups.run_ids == [run_id]


def test_the_same_decision_again_is_a_duplicate_and_another_is_a_conflict(stage, signals):
    run_id = suspended(stage, {"do": "wait", "node": "later"})
    assert signals.send(run_id, APPROVE) == "applied"

    assert signals.send(run_id, APPROVE) == "duplicate"
    with pytest.raises(AnsweredOtherwise):
        signals.send(run_id, Decision("ask", "rejected"))


def test_a_decision_applies_only_to_the_request_it_names(stage, signals, follow_ups):
    run_id = stage.start(ASK, {**ASK, "node": "again"}, END)
    stage.until(run_id, "suspended")

    for other in ("again", "ask.2", "nothing"):
        with pytest.raises(NotPending):
            signals.send(run_id, Decision(other, "approved"))
    with pytest.raises(NotPending):
        signals.send(run_id, Resumption("ask"))

    assert stage.snapshot(run_id)["pending"]["id"] == "ask"
    assert follow_ups.run_ids == []


def test_of_concurrent_decisions_one_is_applied_and_the_others_are_told(stage, signals):
    run_id = suspended(stage, {"do": "wait", "node": "later"})
    decisions = [Decision("ask", random.choice(["approved", "rejected"]), f"dr-{number}") for number in range(8)]

    def send(decision: Decision) -> str:
        try:
            return str(signals.send(run_id, decision))
        except AnsweredOtherwise:
            return "conflict"

    with ThreadPoolExecutor(8) as senders:
        answers = [*senders.map(send, decisions)]

    assert sorted(answers) == ["applied"] + ["conflict"] * 7
    assert standing(decisions[answers.index("applied")], stage.snapshot(run_id)) == "applied"


def test_an_outcome_that_is_not_offered_names_its_field(stage, signals):
    run_id = suspended(stage)

    with pytest.raises(InvalidInput) as problem:
        signals.send(run_id, Decision("ask", "perhaps"))

    assert problem.value.errors[0].pointer == "/outcome"
    assert stage.snapshot(run_id)["status"] == "suspended"


def test_an_unknown_run(signals):
    with pytest.raises(NotFound):
        signals.send("nobody:knows", APPROVE)


@pytest.mark.parametrize(("signal", "detail"), [(APPROVE, NO_VALIDATION), (Resumption("pause"), NO_WAIT)])
def test_a_frozen_run_is_refused_without_a_call_to_restate(stage, follow_ups, signal, detail):
    run_id = stage.start(VISIT, END)
    stage.until_ended(run_id)
    stage.sweep()

    with pytest.raises(RunEnded) as problem:
        Signals(stage.settlement(ingress=unreachable()), follow_ups).send(run_id, signal)

    assert (problem.value.status, problem.value.detail) == (409, detail)


@pytest.mark.parametrize(
    ("waiting", "status", "signal", "detail"),
    [(ASK, "suspended", APPROVE, NO_VALIDATION), (WAIT, "waiting", Resumption("pause"), NO_WAIT)],
    ids=["decide", "resume"],
)
def test_a_run_killed_before_the_signal_is_settled_by_it(stage, signals, waiting, status, signal, detail):
    run_id = stage.start(waiting, END)
    stage.until(run_id, status)
    stage.kill(run_id)

    with pytest.raises(RunEnded) as problem:
        signals.send(run_id, signal)

    assert problem.value.detail == detail
    assert stage.row(run_id).final_status == "failed"
    assert stage.counted.take() == {("killed", "read"): 1}


def test_a_signal_to_a_run_that_completed_meanwhile_is_told_so_and_freezes_it(stage, signals):
    run_id = stage.start(VISIT, END)
    stage.until_ended(run_id)

    with pytest.raises(RunEnded):
        signals.send(run_id, APPROVE)

    assert stage.counted.take() == {("completed", "read"): 1}


def test_a_decision_whose_effect_does_not_show_in_time_is_accepted(stage, signals, follow_ups):
    # the scripted run takes the decision and shows nothing until its next step
    run_id = stage.start({**ASK, "silent": True}, {"do": "sleep", "seconds": 4}, VISIT, END)
    stage.until(run_id, "suspended")
    started = time.monotonic()

    assert signals.send(run_id, APPROVE) == "accepted"

    assert time.monotonic() - started < 3
    assert follow_ups.run_ids == [run_id]
    stage.until(run_id, "completed")
    stage.until_ended(run_id)
    assert stage.settlement().settle_by_id(run_id)
    assert standing(APPROVE, stage.store.get_snapshot(run_id)) == "applied"


def test_with_the_engine_down_nothing_is_claimed(tmp_path, postgres_url, follow_ups):
    with running_restate(tmp_path) as server:
        with staged(server, postgres_url) as stage:
            run_id = suspended(stage)
        settlement = stage.settlement()
        with pytest.raises(RestateUnavailable):
            Signals(settlement, follow_ups).send(run_id, APPROVE)
    with pytest.raises(RestateUnavailable):
        Signals(settlement, follow_ups).send(run_id, APPROVE)


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_a_decision_posted_while_its_run_is_being_killed_is_answered_truly_100_times(stage, signals, follow_ups):
    """200 only when the engine applied it, 202 when that is not yet known and the follow-up settles it, 409 when
    the run ended without it; the archive agrees each time."""
    chance = random.Random(2026)

    def race(number: int) -> tuple[str, str]:
        run_id = stage.start(VISIT, ASK, {"do": "visit", "node": "then"}, {"do": "sleep", "seconds": 600}, END)
        stage.until(run_id, "suspended")
        invocation = stage.invocation(run_id)["id"]
        killing = threading.Timer(delays[number], stage.kill_invocation, [invocation])
        killing.start()
        try:
            answer = str(signals.send(run_id, APPROVE))
        except RunEnded as problem:
            answer = {NO_VALIDATION: "ended"}[problem.detail]
        killing.join()
        stage.until_ended(run_id)
        return run_id, answer

    delays = [chance.uniform(0, 0.2) for _ in range(100)]
    with ThreadPoolExecutor(4) as races:
        answers = dict(races.map(race, range(100)))
    for run_id in follow_ups.run_ids:
        assert stage.settlement().settle_by_id(run_id)
    stage.sweep()

    for run_id, answer in answers.items():
        assert stage.row(run_id).final_status == "failed"
        is_applied = standing(APPROVE, stage.store.get_snapshot(run_id)) == "applied"
        assert is_applied or answer != "applied"
        assert not is_applied or answer != "ended"
    counted = stage.counted.take()
    assert {ending for ending, _ in counted} == {"killed"}
    assert sum(counted.values()) == 100
    told = {answer: [*answers.values()].count(answer) for answer in set(answers.values())}
    print(f"answers while being killed: {told}")
    assert {"applied", "ended"} <= told.keys()
