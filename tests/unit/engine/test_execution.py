"""The graph is walked without I/O: effects out, answers in, and a snapshot that tells where the run is."""

# ruff: noqa: E501 - a row of a table, and a node, is a line

from __future__ import annotations

from typing import Any

import pytest

from meridian import jsontext
from meridian.engine.driver import PLACEHOLDER
from meridian.engine.model import Ask, InvalidRunInput, Pause, RunInput
from meridian.runs.snapshot import EMPTY
from tests.services.world import END, EVENT, World, decided, document


def test_values_are_computed_over_event_nodes_and_run() -> None:
    nodes: list[dict[str, Any]] = [
        {"id": "one", "type": "set", "values": {"level": "event.data.value", "who": "run.subjects.patient"}, "next": "two"},
        {"id": "two", "type": "set", "values": {"all": "[nodes.one, run.id, run.version, run.triggerId]"}, "next": "done"},
        {"id": "done", "type": "end", "output": "nodes.two.output.all"},
    ]  # fmt: skip
    output = World(nodes).run()
    assert jsontext.serialize(output) == (
        '[{"status":"completed","output":{"level":6.10,"who":"p-42"}},"e-1:alert",3,"lab"]'
    )


def test_nodes_without_io_take_no_time_and_need_no_effect() -> None:
    world = World([{"id": "one", "type": "set", "values": {"a": "run.startedAt"}, "next": "done"}, END])
    assert world.run() is None
    assert world.effects == []
    assert world.execution.snapshot == {
        "status": "completed",
        "trace": [
            {
                "node": "one",
                "status": "completed",
                "startedAt": "2026-11-30T20:09:01.000Z",
                "endedAt": "2026-11-30T20:09:01.000Z",
                "input": None,
                "output": {"a": "2026-11-30T20:09:01.000Z"},
                "error": None,
            },
            {
                "node": "done",
                "status": "completed",
                "startedAt": "2026-11-30T20:09:01.000Z",
                "endedAt": "2026-11-30T20:09:01.000Z",
                "input": None,
                "output": None,
                "error": None,
            },
        ],
        "pending": None,
        "waiting": None,
        "error": None,
    }


@pytest.mark.parametrize(
    ("value", "output"),
    [("7", {"branch": 0, "next": "high"}), ("5.5", {"branch": 1, "next": "raised"}), ("4", {"branch": None, "next": "done"})],
)  # fmt: skip
def test_a_choice_takes_the_first_branch_that_holds(value: str, output: dict[str, Any]) -> None:
    nodes: list[dict[str, Any]] = [
        {
            "id": "check",
            "type": "choice",
            "branches": [
                {"when": f"`{value}` > `6`", "next": "high"},
                {"when": f"`{value}` > `5`", "next": "raised"},
            ],
            "otherwise": "done",
        },
        {"id": "high", "type": "end"},
        {"id": "raised", "type": "end"},
        END,
    ]
    world = World(nodes)
    world.run()
    assert [entry["node"] for entry in world.execution.trace] == ["check", output["next"]]
    assert world.execution.trace[0]["output"] == output


def test_a_choice_without_a_branch_that_holds_fails() -> None:
    nodes: list[dict[str, Any]] = [
        {"id": "check", "type": "choice", "branches": [{"when": "event.none", "next": "done"}]},
        END,
    ]
    assert World(nodes).failure().reason == "no branch holds and there is no otherwise"


def test_a_validation_is_pending_until_it_is_decided() -> None:
    ask = {"id": "ask", "type": "validation", "title": "Abnormal", "outcomes": {"ok": "done", "no": "ask"}}
    world = World([ask, END], decided("no"), decided("ok"))
    world.run()
    assert [effect.pending["id"] for effect in world.effects if isinstance(effect, Ask)] == ["ask", "ask.2"]
    assert world.snapshots[1]["status"] == "suspended"
    assert world.snapshots[1]["pending"] == {
        "id": "ask.2",
        "node": "ask",
        "title": "Abnormal",
        "message": None,
        "outcomes": ["ok", "no"],
        "subjects": {"patient": "p-42"},
        "requestedAt": "2026-11-30T20:09:04.000Z",
    }
    assert [entry["node"] for entry in world.execution.trace] == ["ask", "ask", "done"]


@pytest.mark.parametrize(
    ("fields", "resumed", "follows"),
    [
        ({}, True, "done"),
        ({"timeoutSeconds": 60}, True, "done"),
        ({"timeoutSeconds": 60}, False, "done"),
        ({"timeoutSeconds": 60, "onTimeout": "late"}, True, "done"),
        ({"timeoutSeconds": 60, "onTimeout": "late"}, False, "late"),
    ],
)
def test_a_wait_goes_on_when_it_is_resumed_or_over(fields: dict[str, Any], resumed: bool, follows: str) -> None:
    pause = {"id": "pause", "type": "wait", "next": "done", **fields}
    world = World([pause, END, {"id": "late", "type": "end"}], {"resumed": resumed, "data": 1})
    world.run()
    [effect] = world.effects
    assert isinstance(effect, Pause)
    assert effect.seconds == fields.get("timeoutSeconds")
    assert world.snapshots[0]["status"] == "waiting"
    until = "2026-11-30T20:10:02.000Z" if fields else None
    waiting = {"id": "pause", "node": "pause", "until": until, "since": "2026-11-30T20:09:02.000Z"}
    assert world.snapshots[0]["waiting"] == waiting
    assert [entry["node"] for entry in world.execution.trace] == ["pause", follows]
    assert world.execution.trace[0]["output"] == {"resumed": resumed, "data": 1}


def test_a_fail_node_ends_the_run_with_its_code() -> None:
    world = World([{"id": "stop", "type": "fail", "reason": "no bed", "code": 470}])
    failure = world.failure()
    assert (failure.node, failure.reason, failure.code) == ("stop", "no bed", 470)
    assert world.execution.snapshot["error"] == {"node": "stop", "reason": "no bed", "code": 470}
    assert world.execution.snapshot["status"] == "failed"


def test_a_fail_node_without_a_code_is_500() -> None:
    assert World([{"id": "stop", "type": "fail", "reason": "no bed"}]).failure().code == 500


def test_a_run_may_visit_a_thousand_nodes_and_no_more() -> None:
    turn = {"id": "turn", "type": "set", "values": {"n": "to_number(event.none)"}, "next": "turn"}
    world = World([turn])
    assert world.failure().reason == "the run has visited 1000 nodes"
    assert len(world.execution.trace) == 1001


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ({"a": "[@, @]", "b": "[@, @]"}, "the output is larger than 1 MiB"),
        ({"a": "|".join(["[@, @]"] * 40)}, "the output is larger than 1 MiB"),
    ],
)
def test_an_output_that_is_too_large_fails_the_node(values: dict[str, str], reason: str) -> None:
    big = {**EVENT, "data": "x" * 600_000}
    nodes: list[dict[str, Any]] = [{"id": "big", "type": "set", "values": values, "next": "done"}, END]
    assert World(nodes, event=big).failure().reason == reason


def test_an_output_that_is_nested_too_deeply_fails_the_node() -> None:
    data: Any = 1
    for _ in range(400):
        data = [data]
    nodes: list[dict[str, Any]] = [{"id": "deep", "type": "set", "values": {"a": "event.data"}, "next": "done"}, END]
    assert World(nodes, event={**EVENT, "data": data}).failure().reason == "the output is nested too deeply"


def test_a_start_that_is_no_node_fails_the_run() -> None:
    assert World([END], start="elsewhere").failure().reason == "the definition has no such node"


def test_a_fault_of_ours_is_named_by_its_type_alone() -> None:
    failure = World([{"id": "half", "type": "set", "next": "done"}, END]).failure()
    assert failure.reason == "internal error: KeyError"


def test_a_value_that_holds_all_results_stays_as_it_was() -> None:
    nodes: list[dict[str, Any]] = [
        {"id": "one", "type": "set", "values": {"all": "nodes"}, "next": "two"},
        {"id": "two", "type": "set", "values": {"all": "nodes"}, "next": "done"},
        {"id": "done", "type": "end", "output": "nodes.one.output.all"},
    ]
    assert World(nodes).run() == {}


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"runId": None}, "runId"),
        ({"workflow": {}}, "slug"),
        ({"spec": {"name": "x"}}, "spec"),
        ({"spec": []}, "spec"),
        ({"event": None}, "event"),
        ({"subjects": []}, "subjects"),
    ],
)
def test_an_input_that_is_none_is_refused_by_field(change: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidRunInput, match=f"^the run's input has no valid {field}$"):
        RunInput.parse({**document([END]), **change})


def test_the_placeholder_is_what_the_run_index_takes_for_nothing() -> None:
    assert PLACEHOLDER == EMPTY
