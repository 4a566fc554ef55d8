"""Where a signal stands in a snapshot, and what a decision feed is answered after the end, as tables."""

from decimal import Decimal

import pytest

from meridian.runs.snapshot import EMPTY
from meridian.signals.model import (
    NEVER_ASKED,
    NOT_APPLIED,
    Decision,
    Resumption,
    after_the_end,
    answer_to,
    as_duplicate,
    same,
    standing,
)

APPROVED = {"outcome": "approved", "by": "dr-a", "comment": None, "data": None, "decidedAt": "t"}
REJECTED = {**APPROVED, "outcome": "rejected"}
MINE = Decision("ask", "approved", "dr-a")


def visit(node: str, output: object, ended: bool = True) -> dict[str, object]:
    return {
        "node": node,
        "status": "completed" if ended else "running",
        "endedAt": "t" if ended else None,
        "output": output,
    }


def snapshot(*trace: dict[str, object], **parts: object) -> dict[str, object]:
    return {**EMPTY, "trace": [*trace], **parts}


@pytest.mark.parametrize(
    ("signal", "last", "expected"),
    [
        (MINE, EMPTY, "unasked"),
        (MINE, snapshot(pending={"id": "ask"}), "open"),
        (MINE, snapshot(pending={"id": "ask.2"}), "unasked"),
        (MINE, snapshot(pending={"id": "other"}), "unasked"),
        (MINE, snapshot(visit("ask", APPROVED)), "applied"),
        (MINE, snapshot(visit("ask", REJECTED)), "answered"),
        (MINE, snapshot(visit("ask", {**APPROVED, "by": "dr-b"})), "answered"),
        (MINE, snapshot(visit("ask", None, ended=False)), "unasked"),
        # a later visit of the node is a request of its own
        (MINE, snapshot(visit("ask", REJECTED), visit("ask", APPROVED)), "answered"),
        (
            Decision("ask.2", "approved", "dr-a"),
            snapshot(visit("ask", REJECTED), visit("ask", APPROVED)),
            "applied",
        ),
        (Decision("ask.2", "approved", "dr-a"), snapshot(visit("ask", REJECTED), pending={"id": "ask.2"}), "open"),
        (Decision("ask.2", "approved"), snapshot(visit("ask", REJECTED)), "unasked"),
        (Decision("ask.0", "approved"), snapshot(visit("ask", APPROVED)), "unasked"),
        (Decision("ask.", "approved", "dr-a"), snapshot(visit("ask", APPROVED)), "unasked"),
        (Decision("ask.x", "approved", "dr-a"), snapshot(visit("ask", APPROVED)), "unasked"),
        (Decision("ask." + "9" * 5_000, "approved", "dr-a"), snapshot(visit("ask", APPROVED)), "unasked"),
        (
            Decision("ask", "approved", "dr-a", data={"dose": Decimal("6.10")}),
            snapshot(visit("ask", {**APPROVED, "data": {"dose": Decimal("6.10")}})),
            "applied",
        ),
        (Resumption("pause"), snapshot(waiting={"id": "pause"}), "open"),
        (Resumption("pause"), snapshot(pending={"id": "pause"}), "unasked"),
        (Resumption("pause"), snapshot(visit("pause", {"resumed": True, "data": None})), "applied"),
        (Resumption("pause", 1), snapshot(visit("pause", {"resumed": True, "data": None})), "answered"),
        (Resumption("pause"), snapshot(visit("pause", {"resumed": False, "data": None})), "answered"),
    ],
)
def test_standing(signal, last, expected):
    assert standing(signal, last) == expected


@pytest.mark.parametrize("output", [None, {}, [], {"outcome": "approved", "by": None, "comment": None, "data": None}])
def test_a_node_of_another_kind_or_one_that_failed_has_no_answer(output):
    last = snapshot(visit("ask", output))
    assert answer_to(MINE, last) is None
    assert standing(Decision("ask", "approved"), last) == standing(Resumption("ask"), last) == "unasked"
    assert after_the_end(Decision("ask", "approved"), last) == ("rejected", NEVER_ASKED)


@pytest.mark.parametrize(
    ("archived", "expected"),
    [
        (None, ("rejected", NOT_APPLIED)),
        (EMPTY, ("rejected", NOT_APPLIED)),
        (snapshot(pending={"id": "ask"}, status="suspended"), ("rejected", NOT_APPLIED)),
        (snapshot(visit("ask", APPROVED), status="completed"), ("duplicate", None)),
        (snapshot(visit("ask", {**APPROVED, "by": "dr-b"}), status="completed"), ("duplicate", None)),
        (snapshot(visit("ask", REJECTED), status="completed"), ("rejected", Decision.answered)),
        (snapshot(visit("first", {}), status="completed"), ("rejected", NEVER_ASKED)),
        (snapshot(status="completed"), ("rejected", NEVER_ASKED)),
        (snapshot(visit("ask", APPROVED), pending={"id": "ask.2"}, status="suspended"), ("duplicate", None)),
    ],
)
def test_a_feed_after_the_end(archived, expected):
    assert after_the_end(MINE, archived) == expected


@pytest.mark.parametrize(
    ("left", "right", "expected"),
    [
        ({"a": [1, {"b": None}]}, {"a": [1, {"b": None}]}, True),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}, True),
        (Decimal("6.10"), Decimal("6.1"), True),
        (1, True, False),
        ({"a": [0]}, {"a": [False]}, False),
        (None, False, False),
        ([], {}, False),
        ([1], [1, 2], False),
        ({"a": None}, {}, False),
        ({"a": None}, {"b": None}, False),
        ("1", 1, False),
    ],
)
def test_equal_json_values(left, right, expected):
    assert same(left, right) is same(right, left) is expected


def test_values_nested_deeply_are_compared():
    def nested(depth: int) -> list[object]:
        value: list[object] = []
        for _ in range(depth):
            value = [value]
        return value

    assert same(nested(100_000), nested(100_000))
    assert not same(nested(100_000), nested(99_999))


def test_the_outcome_makes_a_duplicate():
    assert as_duplicate(MINE, {**APPROVED, "by": "dr-b"}) == ("duplicate", None)
    assert as_duplicate(MINE, REJECTED) == ("rejected", Decision.answered)


def test_the_literal_details():
    assert Decision.run_ended == "run terminé : aucune validation en attente"
    assert Resumption.run_ended == "run terminé : aucune attente en cours"
    assert NOT_APPLIED == "décision sur un run terminé : validation non appliquée"
