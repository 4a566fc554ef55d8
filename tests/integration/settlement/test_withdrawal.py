"""A validation request whose run was killed is withdrawn, once per subject kind with a port, before the freeze."""

from __future__ import annotations

import logging
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest

from local.waiting import wait_until
from meridian.restate.ingress import Ingress
from meridian.settlement.deadline import Deadline
from meridian.settlement.withdrawal import idempotency_key
from tests.services.stage import ASK, END, VISIT, Stage, logged

PORTS = ("patient", "stay")
SUBJECTS = {"patient": "p-42", "stay": "s-7", "ward": "w-1"}
WITHDRAWN = "demande de validation retirée"
REFUSED = "retrait de la demande de validation impossible : run non figé, repris au règlement suivant"


def killed_while_suspended(stage: Stage, *steps: dict[str, object]) -> str:
    run_id = stage.start(*(steps or (VISIT, ASK, END)), subjects=SUBJECTS)
    stage.until(run_id, "suspended")
    stage.kill(run_id)
    return run_id


def refusing(stage: Stage, kind: str) -> Ingress:
    """An ingress that refuses the closures of one kind, as Restate does while no record service is registered."""
    network = httpx.HTTPTransport()

    def answer(request: httpx.Request) -> httpx.Response:
        is_refused = "closeValidationRequest" in request.url.path and f'"kind":"{kind}"'.encode() in request.content
        headers = {"x-restate-error-source": "ingress"}
        return httpx.Response(404, headers=headers) if is_refused else network.handle_request(request)

    return Ingress(stage.ingress.url, transport=httpx.MockTransport(answer))


def lines(caplog: pytest.LogCaptureFixture, message: str) -> list[Any]:
    return [line for line in logged(caplog) if line.message == message]


def test_one_withdrawal_per_kind_with_a_port_however_many_passes_and_replicas(stage, caplog):
    caplog.set_level(logging.DEBUG, logger="meridian.runs")
    run_id = killed_while_suspended(stage)
    settlements = [stage.settlement(record_ports=PORTS) for _ in range(4)]
    row = stage.row(run_id)

    with ThreadPoolExecutor(4) as replicas:
        outcomes = [*replicas.map(lambda settlement: settlement.settle(row, "sweep"), settlements)]
    stage.sweep(settlement=stage.settlement(record_ports=PORTS))

    assert sorted(set(outcomes)) in (["ended", "frozen"], ["frozen"])
    assert outcomes.count("frozen") == 1
    assert stage.counted.take() == {("killed", "sweep"): 1}
    assert wait_until(lambda: len(stage.closures) >= 2, 10)
    closed = sorted((closure["kind"], closure["id"]) for closure in stage.closures)
    assert closed == [("patient", "p-42"), ("stay", "s-7")]
    for message in stage.closures:
        assert message["closure"]["outcome"] == "withdrawn"
        assert message["closure"]["requestId"] == f"{run_id}:ask"
        assert message["closure"]["closedAt"] <= stage.row(run_id).updated_at
    told = lines(caplog, WITHDRAWN)
    assert {line.kind for line in told} == set(PORTS)
    assert {(line.levelname, line.runId, line.workflow) for line in told} == {("DEBUG", run_id, "alert")}


def test_the_row_stays_live_while_the_ingress_refuses_one_and_the_next_pass_withdraws(stage, caplog):
    caplog.set_level(logging.DEBUG, logger="meridian.runs")
    run_id = killed_while_suspended(stage)

    refused = stage.sweep(settlement=stage.settlement(ingress=refusing(stage, "stay"), record_ports=PORTS))

    assert (refused["unsettled"], refused["frozen"]) == (1, 0)
    assert stage.row(run_id).final_status is None
    assert stage.store.get_snapshot(run_id) is None
    assert stage.counted.take() == {}
    (line,) = lines(caplog, REFUSED)
    assert (line.levelname, line.runId, line.workflow, line.kind) == ("WARNING", run_id, "alert", "stay")
    assert line.error == "Restate has no engine registered."

    stage.sweep(settlement=stage.settlement(record_ports=PORTS))

    assert stage.row(run_id).final_status == "failed"
    assert stage.counted.take() == {("killed", "sweep"): 1}
    assert wait_until(lambda: len(stage.closures) >= 2, 10)
    # the patient's, accepted by the first pass and sent again by the second, was discarded by Restate
    assert sorted(closure["kind"] for closure in stage.closures) == ["patient", "stay"]


def test_a_run_that_failed_while_its_last_snapshot_waits_is_withdrawn_too(stage):
    failing = {"do": "fail", "code": 500, "reason": "no", "silent": True}
    run_id = stage.start({**ASK, "silent": True}, failing)
    stage.until(run_id, "suspended")
    stage.ingress.decide(run_id, {"pendingId": "ask", "outcome": "approved"})
    stage.until_ended(run_id)

    stage.sweep()

    assert stage.counted.take() == {("failed", "sweep"): 1}
    assert wait_until(lambda: len(stage.closures) == 1, 10)
    assert stage.closures[0]["closure"]["requestId"] == f"{run_id}:ask"


def test_nothing_is_withdrawn_for_kinds_without_a_port(stage):
    run_id = killed_while_suspended(stage)

    stage.sweep(settlement=stage.settlement(record_ports=()))

    assert stage.row(run_id).final_status == "failed"
    assert stage.closures == []


def test_the_withdrawal_of_a_run_whose_event_has_another_script_is_accepted(stage):
    run_id = stage.start(ASK, run_id=f"évènement 病 {stage.counted.__hash__()}:alert", subjects={"patient": "p"})
    stage.until(run_id, "suspended")
    stage.kill(run_id)

    assert stage.sweep()["frozen"] == 1
    assert wait_until(lambda: len(stage.closures) == 1, 10)
    assert stage.closures[0]["closure"]["requestId"] == f"{run_id}:ask"


def test_idempotency_key():
    assert idempotency_key("obs-7f3:potassium-alert", "ask.2", "patient") == (
        "withdraw:obs-7f3:potassium-alert:ask.2:patient"
    )
    assert idempotency_key("é:w", "a", "k") == "withdraw:%C3%A9:w:a:k"


def test_a_pass_that_is_out_of_time_sends_nothing(stage):
    run_id = killed_while_suspended(stage)
    deadline = Deadline(60)
    deadline.stop()

    assert not stage.a_pass().run(deadline).finished
    assert stage.row(run_id).final_status is None
