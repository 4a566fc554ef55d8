"""Every fault of a definition is named at once, with its place, and hostile documents cost little."""

# ruff: noqa: E501 - a row of the table is a line

import copy
import time
from typing import Any

import pytest

from meridian.definitions.validation import Problem, problems

VALID: dict[str, Any] = {
    "name": "Potassium alert",
    "description": "An abnormal potassium asks for a validation",
    "entries": [
        {"id": "lab", "event": "observation.created", "selector": "event.data.code == 'K'", "start": "compute"}
    ],
    "start": "check",
    "nodes": [
        {"id": "compute", "type": "set", "values": {"level": "event.data.value"}, "next": "check"},
        {"id": "check", "type": "choice", "branches": [{"when": "`true`", "next": "ask"}], "otherwise": "recall"},
        {
            "id": "ask",
            "type": "validation",
            "title": "Abnormal",
            "message": "event",
            "outcomes": {"approved": "pause"},
        },
        {"id": "pause", "type": "wait", "timeoutSeconds": 60, "next": "call", "onTimeout": "check"},
        {
            "id": "call",
            "type": "http",
            "method": "POST",
            "url": "'http://lab'",
            "headers": {"X-Run": "run.id"},
            "body": "event",
            "timeoutSeconds": 30,
            "next": "remember",
        },
        {
            "id": "remember",
            "type": "memory.write",
            "scope": "workflow",
            "subject": "patient",
            "key": "'level'",
            "value": "event.data.value",
            "valueType": {"kind": "Decimal"},
            "typeName": "Decimal",
            "expectedVersion": "`0`",
            "retentionSeconds": 86400,
            "next": "recall",
            "onConflict": "forget",
        },
        {"id": "recall", "type": "memory.read", "scope": "workflow-global", "key": "'count'", "next": "done"},
        {
            "id": "forget",
            "type": "memory.forget",
            "scope": "subject",
            "subject": "patient",
            "key": "'a'",
            "next": "no",
        },
        {"id": "no", "type": "fail", "reason": "conflict", "code": 409},
        {"id": "done", "type": "end", "output": "nodes.recall.output"},
    ],
}


def changed(*path: str | int, to: Any) -> dict[str, Any]:
    """The valid document with another value at `path`."""
    document = copy.deepcopy(VALID)
    place: Any = document
    for part in path[:-1]:
        place = place[part]
    place[path[-1]] = to
    return document


def without(*path: str | int) -> dict[str, Any]:
    document = copy.deepcopy(VALID)
    place: Any = document
    for part in path[:-1]:
        place = place[part]
    del place[path[-1]]
    return document


def test_a_definition_of_every_node_type_is_valid() -> None:
    assert problems(VALID) == []


def test_a_loop_is_allowed() -> None:
    assert problems(changed("nodes", 7, "next", to="check")) == [Problem("/nodes/8", "no path leads to this node")]
    assert problems(changed("nodes", 6, "next", to="compute")) == [Problem("/nodes/9", "no path leads to this node")]


@pytest.mark.parametrize(
    ("document", "pointer", "detail"),
    [
        (without("name"), "/name", "is required"),
        (changed("name", to=""), "/name", "must have at least 1 character(s)"),
        (changed("name", to=5), "/name", "must be of type string"),
        (changed("owner", to="x"), "/owner", "is not a field of this object"),
        (changed("entries", to=[]), "/entries", "must have at least 1 item(s)"),
        (changed("entries", 0, "id", to="a-b"), "/entries/0/id", "must match ^[A-Za-z_][A-Za-z0-9_]{0,63}$"),
        (changed("entries", 0, "id", to="lab\n"), "/entries/0/id", "must match ^[A-Za-z_][A-Za-z0-9_]{0,63}$"),
        (without("entries", 0, "event"), "/entries/0/event", "is required"),
        (changed("entries", 0, "start", to="nowhere"), "/entries/0/start", "names no node: nowhere"),
        (changed("entries", 0, "selector", to="a ="), "/entries/0/selector", "JMESPath: syntax error at column 3"),
        (changed("start", to="nowhere"), "/start", "names no node: nowhere"),
        (without("start"), "/start", "is required"),
        (without("nodes", 0, "next"), "/nodes/0/next", "is required"),
        (changed("nodes", 0, "next", to="nowhere"), "/nodes/0/next", "names no node: nowhere"),
        (changed("nodes", 0, "values", "a/b", to="x("), "/nodes/0/values/a~1b", "JMESPath: ends too early"),
        (changed("nodes", 1, "branches", 0, "next", to="x"), "/nodes/1/branches/0/next", "names no node: x"),
        (changed("nodes", 1, "branches", 0, "when", to="f(@)"), "/nodes/1/branches/0/when", "JMESPath: calls an unknown function, f()"),
        (changed("nodes", 1, "otherwise", to="x"), "/nodes/1/otherwise", "names no node: x"),
        (changed("nodes", 2, "outcomes", "no", to="x"), "/nodes/2/outcomes/no", "names no node: x"),
        (changed("nodes", 3, "timeoutSeconds", to=0), "/nodes/3/timeoutSeconds", "must be at least 1"),
        (changed("nodes", 3, "timeoutSeconds", to=31_536_001), "/nodes/3/timeoutSeconds", "must be at most 31536000"),
        (changed("nodes", 3, "onTimeout", to="x"), "/nodes/3/onTimeout", "names no node: x"),
        (changed("nodes", 4, "method", to="get"), "/nodes/4/method", "must be one of GET, HEAD, POST, PUT, PATCH, DELETE"),
        (changed("nodes", 4, "headers", "a b", to="'x'"), "/nodes/4/headers/a b", "is not a name that can stand here"),
        (changed("nodes", 4, "timeoutSeconds", to=31), "/nodes/4/timeoutSeconds", "must be at most 30"),
        (without("nodes", 5, "subject"), "/nodes/5/subject", "is required"),
        (changed("nodes", 5, "scope", to="global"), "/nodes/5/scope", "must be one of workflow, subject, workflow-global"),
        (changed("nodes", 5, "retentionSeconds", to=0), "/nodes/5/retentionSeconds", "must be at least 1"),
        (changed("nodes", 5, "onConflict", to="x"), "/nodes/5/onConflict", "names no node: x"),
        (changed("nodes", 5, "expectedVersion", to="&a"), "/nodes/5/expectedVersion", "JMESPath: has an & where no expression is taken"),
        (changed("nodes", 6, "subject", to="patient"), "/nodes/6/subject", "has no place in the scope workflow-global"),
        (changed("nodes", 8, "code", to=200), "/nodes/8/code", "must be at least 400"),
        (changed("nodes", 8, "reason", to="x" * 501), "/nodes/8/reason", "must have at most 500 characters"),
        (changed("nodes", 9, "id", to="no"), "/nodes/9/id", "occurs twice"),
        (changed("nodes", 9, to=7), "/nodes/9", "must be of type object"),
        (
            changed("nodes", 9, "type", to="stop"),
            "/nodes/9/type",
            "is not a node type; the types are set, choice, validation, wait, http, memory.read, memory.write, memory.forget, end, fail",
        ),
        (changed("nodes", 5, "valueType", to={"n": 10**400}), "", "has a number that is out of range, or text that is not Unicode"),
        (changed("name", to="\ud800"), "", "has a number that is out of range, or text that is not Unicode"),
        (changed("name", to="a\0b"), "", "has text with the character U+0000"),
    ],
)  # fmt: skip
def test_a_fault_is_named_with_its_place(document: dict[str, Any], pointer: str, detail: str) -> None:
    assert Problem(pointer, detail) in problems(document)


def test_an_unreachable_node_is_named() -> None:
    document = changed("nodes", 1, "branches", 0, "next", to="done")
    assert {p.pointer for p in problems(document)} == {f"/nodes/{i}" for i in (2, 3, 4, 5, 7, 8)}


def test_all_faults_are_named_at_once_and_each_once() -> None:
    document = changed("nodes", 0, "next", to="nowhere")
    document["name"] = None
    document["entries"][0]["selector"] = "("
    document["nodes"][9]["output"] = "x["

    assert [p.pointer for p in problems(document)] == [
        "/name",
        "/nodes/0/next",
        "/entries/0/selector",
        "/nodes/9/output",
    ]


@pytest.mark.parametrize("document", [None, True, 7, "x", [], [{}] * 10])
def test_what_is_no_object_is_one_problem(document: Any) -> None:
    assert problems(document) == [Problem("", "must be of type object")]


def test_long_content_is_not_repeated() -> None:
    long = "x" * 100_000
    document = {"name": 5, long: 1, "entries": long, "start": long, "nodes": [{"id": long, "type": long, long: 1}]}
    assert all(len(p.pointer) < 200 and len(p.detail) < 200 for p in problems(document))


def test_deep_nesting_is_a_problem_and_not_a_crash() -> None:
    deep: Any = []
    for _ in range(50_000):
        deep = [deep]
    document = changed("nodes", 5, "valueType", to=deep)
    found = problems(document)
    while deep:  # taken apart by hand: the interpreter's own clean-up is not what is tested
        deep = deep.pop()
    assert found == [Problem("", "is nested too deeply")]


@pytest.mark.parametrize(
    "hostile",
    [
        {"nodes": [{}] * 300_000},
        {"entries": [{}] * 300_000},
        {"nodes": [{"id": "a", "type": "set", "next": "b"}] * 500, "entries": [{}] * 50},
        {str(i): 0 for i in range(100_000)},
        {"nodes": [{"id": "a", "type": "choice", "branches": [{}] * 300_000}]},
    ],
)
def test_a_hostile_document_of_a_megabyte_costs_a_bounded_time(hostile: dict[str, Any]) -> None:
    started = time.monotonic()
    found = problems(hostile)
    assert 0 < len(found) <= 200
    assert time.monotonic() - started < 10
