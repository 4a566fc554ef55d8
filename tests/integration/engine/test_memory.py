"""Nodes of workflow memory: what they ask of it and make of its answers, also when the engine is killed on the way."""

from __future__ import annotations

import time
from collections.abc import Iterator
from threading import Lock
from typing import Any

import pytest

from meridian import clock, jsontext
from meridian.database import open_database
from meridian.memory.model import Address, Write, Written, WrittenBy
from meridian.memory.store import MemoryStore, open_memory_store
from tests.integration.engine.conftest import Engine
from tests.integration.engine.world import Request
from tests.services.functions import Api, http_event, load_function

WRITE: dict[str, Any] = {
    "id": "remember",
    "type": "memory.write",
    "scope": "workflow",
    "subject": "patient",
    "key": "'key-zq7'",
    "value": "event.data.value",
    "valueType": {"kind": "Decimal"},
    "typeName": "Decimal",
    "next": "done",
}
DONE: dict[str, Any] = {"id": "done", "type": "end", "output": "nodes.remember.output"}


def test_a_value_is_written_with_who_writes_it(engine: Engine) -> None:
    engine.memory.answers = [(200, '{"version": 7, "expiresAt": "2026-12-30T20:09:00.000Z"}')]
    run_id = engine.start([{**WRITE, "expectedVersion": "`0`", "retentionSeconds": 60}, DONE])

    completed = engine.until(run_id, "completed")

    [request] = engine.memory.requests
    assert request.path == "/api/internal/memory/write"
    assert jsontext.parse(request.body) == {
        "scope": "workflow",
        "subjectKind": "patient",
        "subjectId": "p-42",
        "workflow": "workflow",
        "key": "key-zq7",
        "type": {"kind": "Decimal"},
        "typeName": "Decimal",
        "value": jsontext.parse("6.1"),
        "writtenBy": {"workflow": "workflow", "run": run_id, "node": "remember"},
        "expectedVersion": 0,
        "retentionSeconds": 60,
    }
    output = {"version": 7, "expiresAt": "2026-12-30T20:09:00.000Z", "conflict": False}
    assert completed["trace"][0]["output"] == output


@pytest.mark.parametrize(("node", "follows"), [({"onConflict": "other"}, "other"), ({}, "done")])
def test_a_conflict_is_an_outcome(engine: Engine, node: dict[str, Any], follows: str) -> None:
    engine.memory.answers = [(409, '{"currentVersion": 12}')]
    nodes: list[dict[str, Any]] = [
        {**WRITE, "expectedVersion": "`3`", **node},
        DONE,
        {"id": "other", "type": "end"},
    ]

    completed = engine.until(engine.start(nodes), "completed")

    assert completed["trace"][0]["output"] == {"conflict": True, "currentVersion": 12}
    assert completed["trace"][1]["node"] == follows
    assert len(engine.memory.requests) == 1


def test_a_value_is_read_with_every_digit(engine: Engine) -> None:
    engine.memory.answers = [
        (200, '{"version": 7, "value": 6.10, "type": "Decimal", "typeName": "Decimal", "writtenBy": {}}')
    ]
    nodes: list[dict[str, Any]] = [
        {"id": "recall", "type": "memory.read", "scope": "workflow-global", "key": "'key-zq7'", "next": "done"},
        {"id": "done", "type": "end", "output": "nodes.recall.output.value"},
    ]
    completed = engine.until(engine.start(nodes), "completed")
    read = '{"version":7,"value":6.10,"type":"Decimal","typeName":"Decimal"}'
    assert jsontext.serialize(completed["trace"][0]["output"]) == read
    assert jsontext.parse(engine.memory.requests[0].body) == {
        "scope": "workflow-global",
        "workflow": "workflow",
        "key": "key-zq7",
    }


def test_a_value_is_forgotten(engine: Engine) -> None:
    engine.memory.answers = [(200, '{"forgotten": true}')]
    forget = {
        "id": "remember",
        "type": "memory.forget",
        "scope": "subject",
        "subject": "patient",
        "key": "'key-zq7'",
    }
    completed = engine.until(engine.start([{**forget, "next": "done"}, DONE]), "completed")
    assert completed["trace"][0]["output"] == {"forgotten": True}
    assert engine.memory.requests[0].path == "/api/internal/memory/forget"
    assert jsontext.parse(engine.memory.requests[0].body) == {
        "scope": "subject",
        "subjectKind": "patient",
        "subjectId": "p-42",
        "key": "key-zq7",
    }


def test_a_memory_call_is_tried_five_times_over_about_five_seconds(engine: Engine) -> None:
    engine.memory.answers = [(503, "")]
    started = time.monotonic()
    failed = engine.until(engine.start([WRITE, DONE]), "failed")
    assert failed["error"]["reason"] == "workflow memory is out of reach"
    assert len(engine.memory.requests) == 5
    assert 4 < time.monotonic() - started < 8
    assert len({request.body for request in engine.memory.requests}) == 1


def test_a_memory_call_succeeds_once_it_is_answered(engine: Engine) -> None:
    engine.memory.answers = [(500, ""), (502, ""), (200, '{"version": 1, "expiresAt": null}')]
    completed = engine.until(engine.start([WRITE, DONE]), "completed")
    assert completed["trace"][0]["output"]["version"] == 1


@pytest.mark.parametrize("status", [400, 403, 413, 422])
def test_a_refused_memory_call_fails_at_once(engine: Engine, status: int) -> None:
    engine.memory.answers = [(status, "{}")]
    failed = engine.until(engine.start([WRITE, DONE]), "failed")
    assert failed["error"]["reason"] == f"workflow memory refused the write: {status}"
    assert len(engine.memory.requests) == 1


def test_a_subject_that_the_run_has_not_fails_the_node(engine: Engine) -> None:
    failed = engine.until(engine.start([{**WRITE, "subject": "encounter"}, DONE]), "failed")
    assert failed["error"]["reason"] == "the run has no subject of the kind encounter"


# --- the engine killed between the answer and the journal ---------------------------------------------------

ADDRESS = Address("patient", "p-42", "workflow", "workflow", "key-zq7")
FORGET: dict[str, Any] = {
    "id": "remember",
    "type": "memory.forget",
    "scope": "workflow",
    "subject": "patient",
    "key": "'key-zq7'",
    "next": "done",
}


@pytest.fixture
def store(engine: Engine, postgres_url: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[MemoryStore]:
    """Workflow memory in a database, behind the real function. The engine dies once the first answer reached it."""
    function = Api(load_function("memory", monkeypatch, DEFINITION_STORE_URL=postgres_url))
    lock = Lock()  # an execution environment does one invocation at a time

    def answer(request: Request) -> tuple[int, str]:
        with lock:
            answer = function.send(http_event("POST", request.path, request.body.encode()))
        if len(engine.memory.requests) == 1:
            engine.functions.kill_before_answer()
        return answer.status, answer.text

    engine.functions.killed.clear()
    engine.memory.answer = answer
    store = open_memory_store(open_database(postgres_url))
    yield store
    store.database.close()


def kept_by_another_run(store: MemoryStore) -> int:
    write = Write(ADDRESS, "{}", "Decimal", "4.20", WrittenBy("workflow", "evt-before:workflow", "remember"))
    outcome = store.write(write)
    assert isinstance(outcome, Written)
    return outcome.version


def completed_by_a_second_try(engine: Engine, node: dict[str, Any]) -> Any:
    """The node's output in a run whose engine was killed with the answer in its hands."""
    run_id = engine.start([node, DONE])
    assert engine.functions.killed.wait(20)
    completed = engine.until(run_id, "completed")
    first, second = engine.memory.requests
    assert (first.path, first.body) == (second.path, second.body)
    return completed["trace"][0]["output"]


@pytest.mark.parametrize("condition", ["none", "absent", "version"])
def test_a_write_by_an_engine_killed_before_its_journal_takes_one_version(
    engine: Engine, store: MemoryStore, condition: str
) -> None:
    before = kept_by_another_run(store) if condition == "version" else 0
    expected = {} if condition == "none" else {"expectedVersion": f"`{before}`"}

    output = completed_by_a_second_try(engine, {**WRITE, **expected})

    item = store.read(ADDRESS)
    assert item is not None
    assert item.expires_at is not None
    assert (item.value, item.version) == ("6.1", before + 1)
    assert output == {"version": item.version, "expiresAt": clock.text(item.expires_at), "conflict": False}


@pytest.mark.parametrize("has_condition", [False, True])
def test_a_forget_by_an_engine_killed_before_its_journal_is_no_conflict(
    engine: Engine, store: MemoryStore, has_condition: bool
) -> None:
    version = kept_by_another_run(store)

    condition = {"expectedVersion": f"`{version}`"} if has_condition else {}

    output = completed_by_a_second_try(engine, {**FORGET, **condition})

    assert output == {"forgotten": False}  # by the second try
    assert store.read(ADDRESS) is None
