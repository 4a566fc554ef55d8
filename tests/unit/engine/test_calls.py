"""What a node asks of others, http and workflow memory: the call it makes, and the calls that cannot be made."""

from __future__ import annotations

from typing import Any

import pytest

from meridian.engine.model import HttpCall, MemoryCall
from tests.services.world import END, EVENT, World


def test_a_node_at_work_shows_what_it_was_given_but_no_header() -> None:
    call = {
        "id": "call",
        "type": "http",
        "method": "PUT",
        "url": "'https://lab.example/a?b=c'",
        "headers": {"Authorization": "'Bearer secret'"},
        "body": "event.data",
        "timeoutSeconds": 3,
        "next": "done",
    }
    world = World([call, END], {"status": 204, "body": None})
    world.run()
    [entry] = world.snapshots[0]["trace"]
    assert (entry["status"], entry["endedAt"]) == ("running", None)
    assert entry["input"] == {"method": "PUT", "url": "https://lab.example/a?b=c", "body": EVENT["data"]}
    [effect] = world.effects
    assert effect == HttpCall(
        "PUT",
        "https://lab.example/a?b=c",
        {
            "authorization": "Bearer secret",
            "content-type": "application/json",
            "idempotency-key": "e-1:alert:call",
        },
        b'{"code":"K","value":6.10}',
        3,
    )
    assert world.execution.trace[0]["output"] == {"status": 204, "body": None}
    assert world.execution.trace[0]["endedAt"] == "2026-11-30T20:09:03.000Z"


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"url": "event.none"}, "url is not a text of at most 8192 characters"),
        ({"url": "'file:///etc/passwd'"}, "url is not an http or https address"),
        ({"url": "'http://'"}, "url is not an http or https address"),
        ({"url": "'http://lab:port/'"}, "url is not an http or https address"),
        ({"url": "'http://lab/a\nb'"}, "url is not an http or https address"),
        ({"headers": {"X-A": "'a\nb'"}}, "headers.X-A is not printable ASCII"),
        ({"headers": {"X-A": "'é'"}}, "headers.X-A is not printable ASCII"),
        ({"headers": {"X-A": "abs('a')"}}, "headers.X-A: abs() takes number, not string"),
        ({"body": '`"a\\u0000"`'}, "body has text that cannot be stored"),
    ],
)
def test_a_call_that_cannot_be_made_fails_the_node(fields: dict[str, Any], reason: str) -> None:
    call = {"id": "call", "type": "http", "method": "GET", "url": "'http://lab/'", "next": "done", **fields}
    world = World([call, END])
    assert world.failure().reason == reason
    assert world.effects == []


@pytest.mark.parametrize(
    ("fields", "headers", "content"),
    [
        ({"method": "GET"}, {}, None),
        ({"method": "POST"}, {"idempotency-key": "e-1:alert:call"}, None),
        ({"method": "POST", "headers": {"Idempotency-Key": "'mine'"}}, {"idempotency-key": "mine"}, None),
        ({"method": "GET", "body": "'a'"}, {"content-type": "application/json"}, b'"a"'),
        (
            {"method": "GET", "headers": {"Content-Type": "'text/plain'"}, "body": "'a'"},
            {"content-type": "text/plain"},
            b"a",
        ),
        (
            {"method": "GET", "headers": {"Content-Type": "'application/fhir+json'"}, "body": "'a'"},
            {"content-type": "application/fhir+json"},
            b'"a"',
        ),
    ],
)
def test_the_body_is_json_unless_its_type_is_another(
    fields: dict[str, Any], headers: dict[str, str], content: bytes | None
) -> None:
    call = {"id": "call", "type": "http", "url": "'http://lab/'", "next": "done", **fields}
    world = World([call, END], {"status": 200, "body": None})
    world.run()
    [effect] = world.effects
    assert isinstance(effect, HttpCall)
    assert (effect.headers, effect.content) == (headers, content)


WRITE: dict[str, Any] = {
    "id": "keep",
    "type": "memory.write",
    "scope": "subject",
    "subject": "patient",
    "key": "'level'",
    "value": "event.data.value",
    "valueType": "Decimal",
    "typeName": "Decimal",
}


def test_the_second_visit_writes_under_another_path() -> None:
    again = {"id": "again", "type": "choice", "branches": [{"when": "nodes.keep.output.conflict", "next": "keep"}]}
    nodes: list[dict[str, Any]] = [
        {**WRITE, "expectedVersion": "`1`", "next": "done", "onConflict": "again"},
        again,
        END,
    ]
    world = World(
        nodes,
        {"status": 409, "body": {"currentVersion": 5}},
        {"status": 200, "body": {"version": 6, "expiresAt": "x"}},
    )
    world.run()
    calls = [effect.body["writtenBy"]["node"] for effect in world.effects if isinstance(effect, MemoryCall)]
    assert calls == ["keep", "keep.2"]
    assert world.snapshots[0]["trace"][-1]["input"] == {
        "scope": "subject",
        "subjectKind": "patient",
        "subjectId": "p-42",
        "key": "level",
        "value": EVENT["data"]["value"],
        "expectedVersion": 1,
    }


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"key": "event.none"}, "key is not a text"),
        ({"key": "''"}, "key is not a text"),
        ({"key": "`5`"}, "key is not a text"),
        ({"subject": "encounter"}, "the run has no subject of the kind encounter"),
        ({"expectedVersion": "`-1`"}, "expectedVersion is not a version"),
        ({"expectedVersion": "`1.5`"}, "expectedVersion is not a version"),
        ({"expectedVersion": "`true`"}, "expectedVersion is not a version"),
        ({"expectedVersion": "event.none"}, "expectedVersion is not a version"),
    ],
)
def test_an_address_that_is_none_fails_the_node(fields: dict[str, Any], reason: str) -> None:
    assert World([{**WRITE, "next": "done", **fields}, END]).failure().reason == reason


def test_a_call_that_gave_up_fails_the_node_at_the_time_it_gave_up() -> None:
    world = World([{**WRITE, "next": "done"}, END], {"failed": "workflow memory is out of reach"})
    assert world.failure().reason == "workflow memory is out of reach"
    [entry] = world.execution.trace
    assert (entry["status"], entry["endedAt"]) == ("failed", "2026-11-30T20:09:03.000Z")
    assert entry["error"] == {"reason": "workflow memory is out of reach", "code": 500}
    assert entry["input"]["key"] == "level"
