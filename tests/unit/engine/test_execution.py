"""The graph is walked without I/O: effects out, answers in, and a snapshot that tells where the run is."""

# ruff: noqa: E501 - a row of a table, and a node, is a line

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from meridian import jsontext
from meridian.engine.driver import PLACEHOLDER
from meridian.engine.execution import Execution, RunFailed
from meridian.engine.model import Ask, Effect, HttpCall, InvalidRunInput, MemoryCall, Pause, RunInput, Tick
from meridian.runs.snapshot import EMPTY

SAMPLES = Path(__file__).resolve().parents[3] / "workflows"
EVENT: dict[str, Any] = {
    "eventId": "e-1",
    "type": "observation.created",
    "source": "lab",
    "time": "2026-11-30T20:09:00Z",
    "subjects": {"patient": "p-42"},
    "data": jsontext.parse('{"code": "K", "value": 6.10}'),
}


def document(nodes: list[dict[str, Any]], **changes: Any) -> dict[str, Any]:
    return {
        "runId": "e-1:alert",
        "workflow": {"slug": "alert", "name": "Alert", "file": "alert.json", "version": 3, "hash": "h"},
        "spec": {"name": "Alert", "entries": [], "start": nodes[0]["id"], "nodes": nodes},
        "triggerId": "lab",
        "start": nodes[0]["id"],
        "event": EVENT,
        "subjects": {"patient": "p-42"},
        **changes,
    }


class World:
    """Answers the effects of an execution: ticks by a clock of whole seconds, the others from `answers`."""

    def __init__(self, nodes: list[dict[str, Any]], *answers: dict[str, Any], **changes: Any) -> None:
        self.execution = Execution(RunInput.parse(document(nodes, **changes)))
        self.effects: list[Effect] = []
        self.snapshots: list[dict[str, Any]] = []  # as each effect but a tick begins
        self._answers = list(answers)
        self._seconds = 0

    def run(self) -> Any:
        """The output of the run."""
        steps = self.execution.steps()
        answer: Any = None
        try:
            while True:
                effect = steps.send(answer)
                if isinstance(effect, Tick):
                    answer = {"at": self._time()}
                    continue
                self.effects.append(effect)
                self.snapshots.append(self.execution.snapshot)
                answer = {"at": self._time(), **self._answers.pop(0)}
        except StopIteration as end:
            return end.value

    def failure(self) -> RunFailed:
        with pytest.raises(RunFailed) as failed:
            self.run()
        return failed.value

    def _time(self) -> str:
        self._seconds += 1
        return f"2026-11-30T20:09:{self._seconds:02d}.000Z"


def decided(outcome: str) -> dict[str, Any]:
    return {"outcome": outcome, "by": "dr-7", "comment": None, "data": None}


END: dict[str, Any] = {"id": "done", "type": "end"}


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


# --- the sample workflows -----------------------------------------------------------------------------------


def sample(slug: str, data: str, *answers: dict[str, Any]) -> World:
    spec = jsontext.parse((SAMPLES / f"{slug}.json").read_bytes())
    event = {**EVENT, "data": jsontext.parse(data)}
    return World(spec["nodes"], *answers, spec=spec, start=spec["start"], event=event)


def remembered(value: str | None) -> tuple[dict[str, Any], dict[str, Any]]:
    """What memory answers to the read of the last result, and to the write of this one."""
    item = {"version": 0} if value is None else {"version": 4, "value": {"value": jsontext.parse(value), "at": None}}
    written = {"version": 5, "expiresAt": "2027-02-28T20:09:00.000Z"}
    return {"status": 200, "body": item}, {"status": 200, "body": written}


@pytest.mark.parametrize(
    ("last", "previous", "trend"),
    [
        (None, "null", "first result"),
        ("3.90", "3.90", "rising"),
        ("4.50", "4.50", "falling"),
        ("4.2", "4.2", "steady"),
    ],
)
def test_a_safe_potassium_is_compared_with_the_last_one(last: str | None, previous: str, trend: str) -> None:
    output = sample("potassium-alert", '{"code": "K", "value": 4.20}', *remembered(last)).run()
    expected = f'{{"alert":"none","value":4.20,"previous":{previous},"trend":"{trend}"}}'
    assert jsontext.serialize(output) == expected


def test_an_abnormal_potassium_is_resolved_by_a_normal_control() -> None:
    world = sample(
        "potassium-alert",
        '{"code": "K", "value": 6.10}',
        *remembered(None),
        decided("treated"),
        {"resumed": True, "data": jsontext.parse('{"value": 5.9}')},
        decided("repeat"),
        {"resumed": True, "data": jsontext.parse('{"value": 4.40}')},
    )
    assert jsontext.serialize(world.run()) == '{"alert":"resolved","first":6.10,"control":4.40}'
    assert world.snapshots[2]["pending"]["message"] == "Potassium 6.10 mmol/L high (first result)"


def test_an_abnormal_potassium_is_dismissed() -> None:
    world = sample("potassium-alert", '{"code": "K", "value": 2.1}', *remembered("2.9"), decided("dismissed"))
    assert world.run()["by"] == "dr-7"
    assert world.snapshots[2]["pending"]["message"] == "Potassium 2.1 mmol/L low (falling)"


def test_a_control_that_does_not_come_fails_the_alert() -> None:
    answers = (*remembered(None), decided("repeat"), {"resumed": False, "data": None})
    world = sample("potassium-alert", '{"code": "K", "value": 7}', *answers)
    assert world.failure().reason == "no control sample within four hours"


@pytest.mark.parametrize(
    ("data", "room", "precautions"),
    [
        ('{"ward": "cardiology"}', "any", ["standard"]),
        ('{"ward": "cardiology", "isolation": "contact"}', "single", ["standard", "contact"]),
    ],
)
def test_an_admission_fills_its_record(data: str, room: str, precautions: list[str]) -> None:
    record = sample("admission-record", data).run()
    assert (record["patient"], record["ward"]) == ("p-42", "cardiology")
    assert (record["room"], record["precautions"]) == (room, precautions)
