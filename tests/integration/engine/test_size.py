"""Runs as large as they may be, and larger: Lambda takes six megabytes of journal and state, and no more."""

from __future__ import annotations

from typing import Any

import pytest

from tests.integration.engine.conftest import Engine
from tests.integration.engine.lambda_service import MOST_PAYLOAD_BYTES
from tests.integration.engine.world import service

TOO_LARGE = "the values of the run are too large together"
SHORT_WAIT: dict[str, Any] = {"id": "pause", "type": "wait", "timeoutSeconds": 1, "next": "done"}
END: dict[str, Any] = {"id": "done", "type": "end"}


def an_event(size: int) -> dict[str, Any]:
    return {"eventId": "e", "type": "t", "source": None, "time": None, "subjects": {}, "data": "x" * size}


def sets(count: int, size: int) -> list[dict[str, Any]]:
    """Nodes that each keep a text of that size, from an event whose data has a thousandth of it."""
    value = f"join('', [{', '.join(['event.data'] * (size // 1_000))}])"
    nodes: list[dict[str, Any]] = []
    for number in range(count):
        following = f"set-{number + 1}" if number + 1 < count else "pause"
        nodes.append({"id": f"set-{number}", "type": "set", "values": {"text": value}, "next": following})
    return [*nodes, SHORT_WAIT, END]


def test_a_run_as_large_as_it_may_be_goes_on_after_a_suspension(engine: Engine) -> None:
    engine.functions.largest = 0
    run_id = engine.start(sets(4, 500_000), event=an_event(1_000))

    assert engine.until(run_id, "completed", "failed")["status"] == "completed"
    assert 5_000_000 < engine.functions.largest < MOST_PAYLOAD_BYTES


def test_a_run_that_becomes_larger_fails_at_the_node_that_made_it_so(engine: Engine) -> None:
    engine.functions.largest = 0
    run_id = engine.start(sets(5, 500_000), event=an_event(1_000))

    snapshot = engine.until(run_id, "completed", "failed")
    assert snapshot["error"] == {"node": "set-4", "reason": TOO_LARGE, "code": 500}
    assert engine.functions.largest < MOST_PAYLOAD_BYTES


@pytest.mark.parametrize(
    ("size", "error"), [(600_000, None), (680_000, {"node": "call-1", "reason": TOO_LARGE, "code": 500})]
)
def test_answers_of_calls_count_with_what_is_kept_of_them(engine: Engine, size: int, error: Any) -> None:
    with service((200, '"' + "y" * size + '"')) as other:
        engine.functions.largest = 0
        call = {"type": "http", "method": "GET", "url": f"'{other.url}/'"}
        nodes = [{"id": "call-0", **call, "next": "call-1"}, {"id": "call-1", **call, "next": "pause"}, SHORT_WAIT, END]
        snapshot = engine.until(engine.start(nodes, event=an_event(100_000)), "completed", "failed")

    assert snapshot["error"] == error
    assert engine.functions.largest < MOST_PAYLOAD_BYTES


def test_a_large_event_leaves_room_for_little(engine: Engine) -> None:
    engine.functions.largest = 0
    nodes: list[dict[str, Any]] = [
        {"id": "keep", "type": "set", "values": {"text": "event.type"}, "next": "pause"},
        SHORT_WAIT,
        END,
    ]
    snapshot = engine.until(engine.start(nodes, event=an_event(1_000_000)), "completed", "failed")

    assert snapshot["error"] is None
    assert engine.functions.largest < MOST_PAYLOAD_BYTES
