"""Decisions, kills and settlement through the whole stack: the real engine, schedule and follow-ups."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from itertools import count
from typing import Any

import httpx
import pytest

from local.waiting import wait_until
from tests.services.stack import RunningStack, running_stack

DEFINITION = {
    "name": "Ask, then wait",
    "entries": [{"id": "only", "event": "settled.event"}],
    "start": "ask",
    "nodes": [
        {
            "id": "ask",
            "type": "validation",
            "title": "Go on?",
            "outcomes": {"approved": "pause", "rejected": "no"},
        },
        {"id": "pause", "type": "wait", "next": "done"},
        {"id": "done", "type": "end", "output": "{by: nodes.ask.output.by}"},
        {"id": "no", "type": "fail", "reason": "refused", "code": 409},
    ],
}
SUBJECT = "p-zq7-settled"
_numbers = count(1)


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningStack]:
    """A stack whose pass ticks each second."""
    with running_stack(tmp_path_factory.mktemp("settled"), RUN_SETTLE_INTERVAL_MS="1000") as running:
        yield running


@pytest.fixture(scope="module")
def api(stack: RunningStack) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=stack.api, timeout=30) as client:
        answer = client.post("/api/workflows/ask-then-wait/versions", json=DEFINITION)
        assert answer.status_code == 201, answer.text
        yield client


def run(api: httpx.Client, run_id: str) -> Any:
    return api.get(f"/api/runs/{run_id}").json()


def listed(api: httpx.Client, run_id: str) -> Any:
    """The run as the index has it: nothing is asked of Restate for a frozen one."""
    event = run_id.partition(":")[0]
    return api.get("/api/runs", params={"event": event}).json()["runs"][0]


def started(api: httpx.Client, status: str = "suspended") -> str:
    event = {
        "eventId": f"s{next(_numbers)}-{os.getpid()}",
        "type": "settled.event",
        "subjects": {"patient": SUBJECT},
    }
    answer = api.post("/api/events", json={**event, "data": {}})
    assert answer.status_code == 202, answer.text
    run_id: str = answer.json()["runs"][0]["runId"]
    assert wait_until(lambda: run(api, run_id)["status"] == status, 20), run(api, run_id)
    return run_id


def kill(stack: RunningStack, run_id: str) -> None:
    statement = f"select id from sys_invocation where target_service_key = '{run_id}' and target_handler_name = 'run'"
    headers = {"accept": "application/json"}
    rows = httpx.post(f"{stack.restate_admin}/query", json={"query": statement}, headers=headers).json()["rows"]
    assert httpx.patch(f"{stack.restate_admin}/invocations/{rows[0]['id']}/kill").is_success


def test_a_decision_and_a_resumption_complete_the_run(api: httpx.Client):
    run_id = started(api)

    decided = api.post(f"/api/decide/{run_id}/ask", json={"outcome": "approved", "by": "dr-a", "data": {"dose": 6.10}})
    assert (decided.status_code, decided.json()) == (200, {"applied": True})
    again = api.post(f"/api/decide/{run_id}/ask", json={"outcome": "approved", "by": "dr-a", "data": {"dose": 6.10}})
    assert (again.status_code, again.json()) == (200, {"applied": True})
    other = api.post(f"/api/decide/{run_id}/ask", json={"outcome": "rejected"})
    assert other.status_code == 409
    resumed = api.post(f"/api/resume/{run_id}/pause", json={"data": {"bed": 7}})
    assert (resumed.status_code, resumed.json()) == (200, {"applied": True})

    assert wait_until(lambda: run(api, run_id)["finalStatus"] == "completed", 20)
    view = run(api, run_id)
    assert view["nodeStatus"] == {"ask": "completed", "pause": "completed", "done": "completed", "no": "skipped"}
    late = api.post(f"/api/decide/{run_id}/ask", json={"outcome": "approved"})
    assert (late.status_code, late.json()["detail"]) == (409, "run terminé : aucune validation en attente")
    late = api.post(f"/api/resume/{run_id}/pause", json={})
    assert (late.status_code, late.json()["detail"]) == (409, "run terminé : aucune attente en cours")
    assert late.headers["content-type"] == "application/problem+json"


def test_the_pass_freezes_a_killed_run_that_nobody_reads(api: httpx.Client, stack: RunningStack):
    run_id = started(api)
    kill(stack, run_id)

    assert wait_until(lambda: listed(api, run_id)["finalStatus"] == "failed", 20)

    view = run(api, run_id)
    assert (view["source"], view["status"]) == ("archive", "failed")
    assert (view["snapshot"]["pending"], view["snapshot"]["waiting"]) == (None, None)
    assert view["nodeStatus"]["ask"] == "skipped"
    assert "run arrêté dans Restate : statut figé en échec" in stack.log("SettlementFunction")


def test_a_refused_run_fails_with_its_reason(api: httpx.Client):
    run_id = started(api)

    assert api.post(f"/api/decide/{run_id}/ask", json={"outcome": "rejected"}).status_code == 200

    assert wait_until(lambda: listed(api, run_id)["finalStatus"] == "failed", 20)
    assert run(api, run_id)["snapshot"]["error"]["reason"] == "refused"


def test_bad_signals_name_the_field(api: httpx.Client):
    run_id = started(api)

    def faults(path: str, body: Any) -> tuple[int, list[str]]:
        answer = api.post(path, json=body)
        return answer.status_code, [error["pointer"] for error in answer.json().get("errors", [])]

    assert faults(f"/api/decide/{run_id}/ask", {}) == (422, ["/outcome"])
    assert faults(f"/api/decide/{run_id}/ask", {"outcome": "perhaps"}) == (422, ["/outcome"])
    assert faults(f"/api/decide/{run_id}/ask", {"outcome": "approved", "pendingId": "no"}) == (422, ["/pendingId"])
    assert faults(f"/api/decide/{run_id}/ask", {"outcome": "approved", "extra": 1}) == (422, ["/extra"])
    assert faults("/api/decisions", {"decisions": []}) == (422, ["/decisions"])
    assert faults("/api/decisions", {"decisions": [{"runId": run_id, "outcome": "x"}]}) == (
        422,
        ["/decisions/0/pendingId"],
    )
    assert faults("/api/decide/no:run/ask", {"outcome": "approved"}) == (404, [])
    assert faults("/api/decide/%00/ask", {"outcome": "approved"}) == (404, [])
    assert faults(f"/api/resume/{run_id}/ask", {}) == (409, [])
    assert run(api, run_id)["status"] == "suspended"


def test_the_feed(api: httpx.Client):
    run_id = started(api)
    decision = {"runId": run_id, "pendingId": "ask", "outcome": "approved", "by": "dr-a"}

    answer = api.post("/api/decisions", json={"decisions": [decision, decision, {**decision, "runId": "no:run"}]})

    assert answer.status_code == 200
    assert answer.json() == {
        "results": [
            {"runId": run_id, "pendingId": "ask", "result": "applied", "reason": None},
            {"runId": run_id, "pendingId": "ask", "result": "duplicate", "reason": None},
            {"runId": "no:run", "pendingId": "ask", "result": "rejected", "reason": "There is no such run."},
        ]
    }


def test_follow_ups_settle_without_the_pass(tmp_path):
    """With the pass switched off, a run that ended by itself is frozen about six seconds later."""
    with running_stack(tmp_path, RUN_SETTLE_INTERVAL_MS="0") as stack, httpx.Client(base_url=stack.api) as api:
        quick = {
            "name": "Quick",
            "entries": [{"id": "only", "event": "quick.event"}],
            "start": "done",
            "nodes": [{"id": "done", "type": "end"}],
        }
        assert api.post("/api/workflows/quick/versions", json=quick, timeout=30).status_code == 201
        posted = time.monotonic()
        api.post("/api/events", json={"eventId": "f1", "type": "quick.event", "subjects": {}, "data": {}}, timeout=30)
        import psycopg

        with psycopg.connect(stack.run_db_url, autocommit=True) as database:

            def is_frozen() -> bool:
                rows = database.execute("select final_status from runs where id = 'f1:quick'").fetchall()
                return rows == [("completed",)]

            assert wait_until(is_frozen, 60)
        assert time.monotonic() - posted > 5
        assert "meridian.runs.settled" in stack.log("FollowUpFunction")


def test_no_subject_in_any_log(api: httpx.Client, stack: RunningStack):
    logs = [file.read_text(errors="replace") for file in (stack.data_dir / "logs").glob("*.log")]

    assert logs
    assert not any(SUBJECT in log for log in logs)
