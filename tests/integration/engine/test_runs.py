"""Runs from their start to their end on a real Restate: suspension, decision, waiting, failing, replay."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from typing import Any

import httpx
import pytest

from meridian import jsontext
from meridian.restate.ingress import OutputAnswer
from meridian.runs.snapshot import EMPTY
from tests.integration.engine.conftest import Engine
from tests.integration.engine.world import run_input, service

END: dict[str, Any] = {"id": "done", "type": "end", "output": "{level: event.data.value, by: nodes.ask.output.by}"}
REFUSED: dict[str, Any] = {"id": "refused", "type": "fail", "reason": "the result was rejected", "code": 422}
ASK: dict[str, Any] = {
    "id": "ask",
    "type": "validation",
    "title": "Abnormal potassium",
    "message": "join(' ', ['K', to_string(event.data.value)])",
    "outcomes": {"approved": "done", "rejected": "refused"},
}
VALIDATION: list[dict[str, Any]] = [ASK, REFUSED, END]


def decision(outcome: str, pending_id: str = "ask", **more: Any) -> dict[str, Any]:
    return {"pendingId": pending_id, "outcome": outcome, "by": "dr-7", "comment": None, "data": None, **more}


def test_a_run_suspends_on_a_validation_and_completes_once_it_is_decided(engine: Engine) -> None:
    run_id = engine.start(VALIDATION)

    suspended = engine.until(run_id, "suspended")
    pending = suspended["pending"]
    assert {name: pending[name] for name in ("id", "node", "title", "message", "outcomes", "subjects")} == {
        "id": "ask",
        "node": "ask",
        "title": "Abnormal potassium",
        "message": "K 6.1",
        "outcomes": ["approved", "rejected"],
        "subjects": {"patient": "p-42"},
    }
    assert datetime.fromisoformat(pending["requestedAt"])
    assert engine.ingress.output(run_id) == OutputAnswer("live")

    assert engine.ingress.decide(run_id, decision("approved", comment="seen", data={"dose": 1})).accepted

    completed = engine.until(run_id, "completed")
    assert [entry["node"] for entry in completed["trace"]] == ["ask", "done"]
    output = completed["trace"][0]["output"]
    assert output == {
        "outcome": "approved",
        "by": "dr-7",
        "comment": "seen",
        "data": {"dose": 1},
        "decidedAt": output["decidedAt"],
    }
    assert pending["requestedAt"] <= output["decidedAt"] == completed["trace"][0]["endedAt"]
    assert completed["pending"] is None
    assert engine.ingress.output(run_id) == OutputAnswer("completed")


def test_the_start_of_a_run_is_kept(engine: Engine) -> None:
    run_id = engine.start(VALIDATION, triggerId="lab")
    engine.until(run_id, "suspended")
    assert engine.ingress.get_start(run_id) == {
        "workflow": {"slug": "workflow", "name": "workflow", "file": "workflow.json", "version": 3, "hash": "h"},
        "triggerId": "lab",
        "routeMatch": "selector",
        "receivedAt": "2026-11-30T20:09:00.123Z",
        "event": jsontext.parse(jsontext.serialize(run_input(run_id, VALIDATION)["event"])),
        "spec": None,
    }


def test_the_start_of_a_draft_keeps_it(engine: Engine) -> None:
    run_id = engine.start(VALIDATION, workflow={"slug": "workflow", "name": "workflow", "version": None, "hash": "h"})
    engine.until(run_id, "suspended")
    start = engine.ingress.get_start(run_id)
    assert start is not None
    assert start["spec"] == run_input(run_id, VALIDATION)["spec"]


def test_a_key_that_never_ran_has_the_placeholder_and_takes_no_signal(engine: Engine) -> None:
    assert engine.ingress.get_run("nobody:workflow") == EMPTY
    assert engine.ingress.get_start("nobody:workflow") is None
    assert engine.ingress.decide("nobody:workflow", decision("approved")).reason == "not_pending"
    assert engine.ingress.resume("nobody:workflow", {"waitId": "pause", "data": None}).reason == "not_pending"


def test_a_decision_answers_the_request_it_names_with_an_outcome_it_offers(engine: Engine) -> None:
    run_id = engine.start(VALIDATION)
    engine.until(run_id, "suspended")
    assert engine.ingress.decide(run_id, decision("approved", "ask.2")).reason == "not_pending"
    assert engine.ingress.decide(run_id, decision("maybe")).reason == "unknown_outcome"
    assert engine.ingress.decide(run_id, decision("approved")).accepted
    engine.until(run_id, "completed")
    assert engine.ingress.decide(run_id, decision("approved")).reason == "not_pending"


def test_of_decisions_that_arrive_together_exactly_one_is_accepted_and_applied(engine: Engine) -> None:
    run_id = engine.start(VALIDATION)
    engine.until(run_id, "suspended")

    with ThreadPoolExecutor(6) as pool:
        answers = list(pool.map(lambda n: engine.ingress.decide(run_id, decision("approved", by=f"dr-{n}")), range(6)))

    accepted = [n for n, answer in enumerate(answers) if answer.accepted]
    assert len(accepted) == 1
    assert {a.reason for a in answers if not a.accepted} <= {"already_decided", "not_pending"}
    completed = engine.until(run_id, "completed")
    assert completed["trace"][0]["output"]["by"] == f"dr-{accepted[0]}"


def test_the_second_visit_of_a_validation_is_another_request(engine: Engine) -> None:
    again = {**ASK, "outcomes": {"approved": "done", "rejected": "ask"}}
    run_id = engine.start([again, END])
    engine.until(run_id, "suspended")
    assert engine.ingress.decide(run_id, decision("rejected")).accepted

    end = time.monotonic() + 20
    while (engine.ingress.get_run(run_id)["pending"] or {}).get("id") != "ask.2":
        assert time.monotonic() < end
    assert engine.ingress.decide(run_id, decision("approved")).reason == "not_pending"
    assert engine.ingress.decide(run_id, decision("approved", "ask.2")).accepted
    completed = engine.until(run_id, "completed")
    assert [entry["node"] for entry in completed["trace"]] == ["ask", "ask", "done"]


@pytest.mark.parametrize("signal", ["decide", "resume"])
@pytest.mark.parametrize(
    "body",
    ["[]", "{}", '{"pendingId": 5, "waitId": 5}', "nonsense", '{"pendingId": "\\ud800", "waitId": "\\u0000"}'],
)
def test_what_is_no_signal_is_refused_at_once(engine: Engine, signal: str, body: str) -> None:
    answer = httpx.post(
        f"{engine.restate.ingress_url}/meridianWorkflow/evt:workflow/{signal}",
        content=body,
        headers={"content-type": "application/json"},
    )
    assert answer.status_code in (400, 500)
    assert answer.headers["x-restate-error-source"] == "invocation"


def test_a_wait_is_resumed_with_data(engine: Engine) -> None:
    pause = {"id": "pause", "type": "wait", "next": "done"}
    run_id = engine.start([pause, {"id": "done", "type": "end", "output": "nodes.pause.output"}])

    waiting = engine.until(run_id, "waiting")["waiting"]
    assert (waiting["id"], waiting["node"], waiting["until"]) == ("pause", "pause", None)
    assert engine.ingress.resume(run_id, {"waitId": "other", "data": None}).reason == "not_pending"
    assert engine.ingress.resume(run_id, {"waitId": "pause", "data": {"bed": 12}}).accepted

    completed = engine.until(run_id, "completed")
    assert completed["trace"][1]["output"] == {"resumed": True, "data": {"bed": 12}}
    assert completed["waiting"] is None


def test_a_wait_is_over_after_its_timeout(engine: Engine) -> None:
    pause = {"id": "pause", "type": "wait", "timeoutSeconds": 2, "next": "done", "onTimeout": "late"}
    run_id = engine.start([pause, {"id": "done", "type": "end"}, {"id": "late", "type": "end", "output": "'late'"}])

    waiting = engine.until(run_id, "waiting")["waiting"]
    since, until = (datetime.fromisoformat(waiting[name]) for name in ("since", "until"))
    assert (until - since).total_seconds() == 2

    trace = engine.until(run_id, "completed")["trace"]
    assert trace[0]["output"] == {"resumed": False, "data": None}
    assert (trace[0]["startedAt"], trace[0]["endedAt"]) == (waiting["since"], waiting["until"])
    assert trace[1]["node"] == "late"
    assert engine.ingress.resume(run_id, {"waitId": "pause", "data": None}).reason == "not_pending"


def test_a_wait_with_a_timeout_is_resumed_before_it(engine: Engine) -> None:
    pause = {"id": "pause", "type": "wait", "timeoutSeconds": 3600, "next": "done", "onTimeout": "late"}
    run_id = engine.start([pause, {"id": "done", "type": "end"}, {"id": "late", "type": "end"}])
    engine.until(run_id, "waiting")
    assert engine.ingress.resume(run_id, {"waitId": "pause", "data": 1}).accepted
    assert [entry["node"] for entry in engine.until(run_id, "completed")["trace"]] == ["pause", "done"]


@pytest.mark.parametrize("code", [404, 409, 422, 470, 500])
def test_a_failing_run_ends_with_the_code_and_the_reason_of_its_node(engine: Engine, code: int) -> None:
    run_id = engine.start([{"id": "stop", "type": "fail", "reason": "no bed is free", "code": code}])

    failed = engine.until(run_id, "failed")
    assert failed["error"] == {"node": "stop", "reason": "no bed is free", "code": code}
    assert failed["trace"][0]["status"] == "failed"
    assert failed["trace"][0]["error"] == {"reason": "no bed is free", "code": code}
    assert engine.ingress.output(run_id) == OutputAnswer("failed", code, "no bed is free")


def test_an_expression_that_does_not_apply_ends_the_run_without_telling_the_value(engine: Engine) -> None:
    run_id = engine.start([{"id": "sum", "type": "set", "values": {"x": "abs(event.subjects.patient)"}, "next": "sum"}])

    failed = engine.until(run_id, "failed")
    assert failed["error"] == {"node": "sum", "reason": "values.x: abs() takes number, not string", "code": 500}
    assert engine.ingress.output(run_id).message == "values.x: abs() takes number, not string"


def test_a_loop_ends_after_a_thousand_visits(engine: Engine) -> None:
    run_id = engine.start([{"id": "turn", "type": "set", "values": {"x": "`1`"}, "next": "turn"}])
    failed = engine.until(run_id, "failed")
    assert failed["error"]["reason"] == "the run has visited 1000 nodes"
    assert len(failed["trace"]) == 1001


def test_every_digit_is_kept_from_the_event_to_the_output(engine: Engine) -> None:
    run_id = "digits:workflow"
    document = run_input(run_id, [{"id": "done", "type": "end", "output": "{v: event.data.value, l: `6.10`}"}])
    document["event"]["data"]["value"] = jsontext.parse("6.100")
    engine.ingress.send_run(run_id, document)

    assert jsontext.serialize(engine.until(run_id, "completed")["trace"][0]["output"]) == '{"v":6.100,"l":6.10}'
    answer = httpx.get(f"{engine.restate.ingress_url}/restate/workflow/meridianWorkflow/{run_id}/output")
    assert answer.text == '{"v":6.100,"l":6.10}'


@pytest.mark.parametrize("document", [{}, [], {"runId": "x"}, {**run_input("x:w", [END]), "spec": {"nodes": 7}}])
def test_an_input_that_is_none_ends_at_once(engine: Engine, document: Any) -> None:
    run_id = f"broken-{hash(str(document))}:workflow"
    engine.ingress.send_run(run_id, document)
    end = time.monotonic() + 20
    while engine.ingress.output(run_id).state == "live":
        assert time.monotonic() < end
    assert engine.ingress.output(run_id).code == 400
    assert engine.ingress.get_run(run_id) == EMPTY


def test_a_cancelled_run_keeps_its_last_snapshot(engine: Engine) -> None:
    run_id = engine.start(VALIDATION)
    engine.until(run_id, "suspended")

    runs = f"target_service_key = '{run_id}' and target_handler_name = 'run'"
    query = {"query": f"select id from sys_invocation where {runs}"}
    headers = {"accept": "application/json"}
    rows = httpx.post(f"{engine.restate.admin_url}/query", json=query, headers=headers).json()["rows"]
    httpx.patch(f"{engine.restate.admin_url}/invocations/{rows[0]['id']}/cancel")

    end = time.monotonic() + 20
    while engine.ingress.output(run_id).state == "live":
        assert time.monotonic() < end
    assert engine.ingress.output(run_id) == OutputAnswer("failed", 409, "cancelled")
    snapshot = engine.ingress.get_run(run_id)
    assert (snapshot["status"], snapshot["pending"]["id"], snapshot["error"]) == ("suspended", "ask", None)


def test_a_run_goes_on_after_the_engine_was_killed_and_calls_nobody_twice(engine: Engine) -> None:
    with service((200, '{"n": 1}')) as lab, service((200, '{"n": 2}')) as ward:
        ward.open.clear()
        nodes: list[dict[str, Any]] = [
            {"id": "lab", "type": "http", "method": "POST", "url": f"'{lab.url}/a'", "next": "ward"},
            {"id": "ward", "type": "http", "method": "POST", "url": f"'{ward.url}/b'", "next": "done"},
            {"id": "done", "type": "end", "output": "[nodes.lab.output.body.n, nodes.ward.output.body.n]"},
        ]
        run_id = engine.start(nodes)
        assert ward.arrived.wait(20)
        working = engine.until(run_id, "running")
        assert [(e["node"], e["status"]) for e in working["trace"]] == [("lab", "completed"), ("ward", "running")]
        assert working["trace"][1]["endedAt"] is None

        engine.functions.kill()  # in the middle of the second call
        ward.open.set()
        completed = engine.until(run_id, "completed")

        assert completed["trace"][2]["output"] == [1, 2]
        assert len(lab.requests) == 1
        assert len(ward.requests) == 2
        assert len({request.headers["idempotency-key"] for request in ward.requests}) == 1


def test_a_decision_reaches_a_run_after_everything_was_restarted(engine: Engine) -> None:
    run_id = engine.start(VALIDATION)
    before = engine.until(run_id, "suspended")
    engine.functions.kill()
    assert engine.until(run_id, "suspended") == before
    assert engine.ingress.decide(run_id, decision("rejected")).accepted
    assert engine.until(run_id, "failed")["error"]["code"] == 422


def test_no_log_line_holds_a_subject_or_a_value(engine: Engine) -> None:
    with service((200, "{}")) as lab:
        url = f"join('', ['{lab.url}/patients/', event.subjects.patient])"
        call = {"id": "call", "type": "http", "method": "GET", "url": url, "next": "ask"}
        run_id = engine.start([call, *VALIDATION])
        engine.until(run_id, "suspended")
        engine.ingress.decide(run_id, decision("approved", comment="a word in confidence"))
        engine.until(run_id, "completed")

    log = engine.functions.log.read_text()
    assert "p-42" not in log
    assert "a word in confidence" not in log
    assert "patients" not in log
