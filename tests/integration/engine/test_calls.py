"""Nodes that call other systems, against real HTTP services: http and record ports."""

from __future__ import annotations

import time
from datetime import datetime
from typing import Any

import pytest

from local.ports import free_port
from meridian import jsontext
from tests.integration.engine.conftest import Engine
from tests.integration.engine.test_runs import VALIDATION, decision
from tests.integration.engine.world import service


def call(url: str, **fields: Any) -> list[dict[str, Any]]:
    return [
        {"id": "call", "type": "http", "method": "POST", "url": f"'{url}'", **fields, "next": "done"},
        {"id": "done", "type": "end", "output": "nodes.call.output"},
    ]


# --- http ---------------------------------------------------------------------------------------------------


def test_an_http_node_sends_json_and_takes_json_with_every_digit(engine: Engine) -> None:
    with service((201, '{"k": 6.10}')) as lab:
        nodes = call(lab.url, headers={"X-Level": "`6.10`", "X-None": "event.none"}, body="{k: `5.20`}")
        completed = engine.until(engine.start(nodes), "completed")

        assert jsontext.serialize(completed["trace"][0]["output"]) == '{"status":201,"body":{"k":6.10}}'
        assert jsontext.serialize(completed["trace"][0]["input"]["body"]) == '{"k":5.20}'
        [request] = lab.requests
        assert request.body == '{"k":5.20}'
        assert request.headers["x-level"] == "6.10"
        assert "x-none" not in request.headers
        assert request.headers["content-type"] == "application/json"


def test_an_http_node_is_tried_again_until_it_is_answered(engine: Engine) -> None:
    with service((503, ""), (429, ""), (200, "{}")) as lab:
        completed = engine.until(engine.start(call(lab.url)), "completed")
        assert completed["trace"][0]["output"] == {"status": 200, "body": {}}
        assert len(lab.requests) == 3


def test_an_http_node_fails_after_three_tries(engine: Engine) -> None:
    with service((503, "")) as lab:
        failed = engine.until(engine.start(call(lab.url)), "failed")
        assert failed["error"] == {"node": "call", "reason": "the service answered 503, 3 tries", "code": 500}
        begun, ended = (datetime.fromisoformat(failed["trace"][0][name]) for name in ("startedAt", "endedAt"))
        assert (ended - begun).total_seconds() > 1.4
        assert len(lab.requests) == 3


def test_an_http_node_fails_when_nobody_listens(engine: Engine) -> None:
    failed = engine.until(engine.start(call(f"http://127.0.0.1:{free_port()}/")), "failed")
    assert failed["error"]["reason"] == "the service does not answer (ConnectError), 3 tries"


def test_an_http_node_fails_when_the_answer_takes_too_long(engine: Engine) -> None:
    with service() as lab:
        lab.open.clear()
        failed = engine.until(engine.start(call(lab.url, timeoutSeconds=1)), "failed")
        lab.open.set()
    assert "the service does not answer" in failed["error"]["reason"]


def test_an_http_node_fails_at_once_on_another_4xx(engine: Engine) -> None:
    with service((404, '{"patient": "p-42"}')) as lab:
        failed = engine.until(engine.start(call(lab.url)), "failed")
        assert failed["error"]["reason"] == "the service answered 404"
        assert len(lab.requests) == 1


@pytest.mark.parametrize(
    ("content_type", "body", "output"),
    [
        ("text/plain", "bed 12", "bed 12"),
        ("application/fhir+json; charset=utf-8", "[1.0]", [1]),
        ("text/plain; charset=iso-8859-1", "bed 12", "bed 12"),
        ("application/json", "", None),
    ],
)
def test_an_answer_is_read_by_its_type(engine: Engine, content_type: str, body: str, output: Any) -> None:
    with service((200, body)) as lab:
        lab.content_type = content_type
        completed = engine.until(engine.start(call(lab.url)), "completed")
    assert completed["trace"][0]["output"]["body"] == output


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("{not json", "the service's answer is not the JSON that it says it is"),
        ('"' + "x" * 1_100_000 + '"', "the service's answer is larger than 1 MiB"),
        ('{"text": "\\u0000"}', "the output has text that cannot be stored"),
    ],
)
def test_an_answer_that_cannot_be_kept_fails_the_node(engine: Engine, body: str, reason: str) -> None:
    with service((200, body)) as lab:
        assert engine.until(engine.start(call(lab.url)), "failed")["error"]["reason"] == reason
        assert len(lab.requests) == 1


# --- record ports -------------------------------------------------------------------------------------------


def test_a_record_port_is_told_once_that_a_request_opens_and_closes(engine: Engine) -> None:
    run_id = engine.start(VALIDATION, subjects={"patient": "p-42", "practitioner": "dr-1"})
    pending = engine.until(run_id, "suspended")["pending"]
    engine.record.wait_for(1)
    engine.ingress.decide(run_id, decision("approved", comment="seen", data={"dose": 1}))
    completed = engine.until(run_id, "completed")
    engine.record.wait_for(2)
    time.sleep(0.5)  # for a third that must not come

    opened, closed = engine.record.requests
    assert opened.path == "/ports/patient/validation-requests"
    assert jsontext.parse(opened.body) == {
        "kind": "patient",
        "id": "p-42",
        "request": {
            "requestId": f"{run_id}:ask",
            "runId": run_id,
            "workflow": "workflow",
            "node": "ask",
            "title": "Abnormal potassium",
            "message": "K 6.1",
            "outcomes": ["approved", "rejected"],
            "requestedAt": pending["requestedAt"],
        },
    }
    assert closed.path == f"/ports/patient/validation-requests/{run_id.replace(':', '%3A')}%3Aask/close"
    assert jsontext.parse(closed.body) == {
        "kind": "patient",
        "id": "p-42",
        "closure": {
            "requestId": f"{run_id}:ask",
            "outcome": "approved",
            "by": "dr-7",
            "comment": "seen",
            "data": {"dose": 1},
            "closedAt": completed["trace"][0]["endedAt"],
        },
    }


def test_a_record_port_that_fails_is_called_again_and_holds_up_no_run(engine: Engine) -> None:
    engine.record.answers = [(503, ""), (404, ""), (200, "")]
    run_id = engine.start(VALIDATION)
    engine.until(run_id, "suspended")
    engine.record.wait_for(3)
    assert {request.path for request in engine.record.requests} == {"/ports/patient/validation-requests"}


def test_a_kind_without_an_address_holds_up_no_run(engine: Engine) -> None:
    run_id = engine.start(VALIDATION, subjects={"encounter": "e-1"})
    engine.until(run_id, "suspended")
    engine.ingress.decide(run_id, decision("approved"))
    engine.until(run_id, "completed")
    assert engine.record.requests == []
