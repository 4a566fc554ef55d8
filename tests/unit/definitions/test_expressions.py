"""JMESPath on decimals: nothing is lost, nothing wrong is published, nothing a patient said is repeated."""

import contextlib
import json
from decimal import Decimal
from typing import Any

import jmespath
import pytest
from hypothesis import given
from hypothesis import strategies as st

from meridian.definitions.expressions import ExpressionError, compile_expression, evaluate, is_true, selects
from meridian.jsontext import serialize

SCOPE = {
    "event": {
        "type": "observation.created",
        "subjects": {"patient": "p-42"},
        "data": {
            "code": "K",
            "value": Decimal("6.10"),
            "series": [Decimal("6.10"), Decimal("5.2"), 7],
            "vast": Decimal("1E+999999999999"),
            "reports": [{"at": 2, "mmol": Decimal("4.9")}, {"at": 1, "mmol": Decimal("6.2")}],
        },
    },
    "nodes": {},
    "run": {},
}


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("event.data.value == `6.1`", True),
        ("event.data.value == `6.10`", True),
        ("event.data.value != `6.1`", False),
        ("event.data.value > `6`", True),
        ("event.data.value >= `6.11`", False),
        ("event.data.value < 'high'", None),
        ("event.data.code < 'L'", True),
        ("event.data.missing > `6`", None),
        ("`1` == `true`", False),
        ("event.data.reports[?mmol > `5.5`].at", [1]),
        ("contains(event.data.series, `6.1`)", True),
        ("contains(event.data.code, `6.1`)", False),
        ("sort(event.data.series)", [Decimal("5.2"), Decimal("6.10"), 7]),
        ("sort_by(event.data.reports, &mmol)[0].at", 2),
        ("max_by(event.data.reports, &mmol).at", 1),
        ("map(&type(@), event.data.series)", ["number", "number", "number"]),
        ("to_number('6,10')", None),
        ("to_number('1_000')", None),
        ("to_number(`true`)", None),
    ],
)
def test_comparisons_and_functions_take_decimals(expression: str, value: Any) -> None:
    assert evaluate(expression, SCOPE) == value


@pytest.mark.parametrize(
    ("expression", "text"),
    [
        ("event.data.value", "6.10"),
        ("`6.10`", "6.10"),
        ("sum(event.data.series)", "18.30"),
        ("sum([`1`, `2`])", "3"),
        ("sum(`[]`)", "0"),
        ("avg(event.data.series)", "6.10"),
        ("avg([`1`, `2`])", "1.5"),
        ("avg(`[]`)", "null"),
        ("max(event.data.series)", "7"),
        ("min(event.data.series)", "5.2"),
        ("abs(`-6.10`)", "6.10"),
        ("abs(`-0.1234567890123456789012345678901234567890`)", "0.1234567890123456789012345678901234567890"),
        ("ceil(event.data.value)", "7"),
        ("floor(`-0.1`)", "-1"),
        ("ceil(`-0.1`)", "0"),
        ("floor(event.data.vast)", "1E+999999999999"),
        ("to_number('6.10')", "6.10"),
        ("to_string(event.data.series)", '"[6.10,5.2,7]"'),
        ("{level: event.data.value}", '{"level":6.10}'),
    ],
)
def test_results_keep_their_digits(expression: str, text: str) -> None:
    assert serialize(evaluate(expression, SCOPE)) == text


@given(st.lists(st.decimals(min_value=-(10**12), max_value=10**12, places=6), min_size=1))
def test_a_sum_of_measurements_is_exact(numbers: list[Decimal]) -> None:
    assert evaluate("sum(event)", {"event": numbers}) == sum(int(n * 10**6) for n in numbers) / Decimal(10**6)


@given(st.text(alphabet="abc01.[]{}()*&|!<>=`'\"@,:? -+\\", max_size=24))
def test_any_text_compiles_or_is_refused_and_any_result_is_json(text: str) -> None:
    with contextlib.suppress(ExpressionError):
        assert serialize(evaluate(text, {"a": [1, {"b": "c"}], "b": {"c": Decimal("1.0")}, "c": "a"}))


_AGREED = [
    "a",
    "a.b",
    "a[0]",
    "a[*].b",
    "a[]",
    "a[?b]",
    "a || b",
    "a && b",
    "!a",
    "a == b",
    "keys(a)",
    "length(a)",
]


@pytest.mark.parametrize("text", _AGREED)
@given(
    value=st.recursive(
        st.none() | st.booleans() | st.integers(-5, 5) | st.text("ab", max_size=2),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("ab"), inner, max_size=2),
    )
)
def test_without_decimals_it_is_the_jmespath_package(text: str, value: Any) -> None:
    try:
        expected = jmespath.search(text, value)
    except jmespath.exceptions.JMESPathError:
        with pytest.raises(ExpressionError):
            evaluate(text, value)
    else:
        assert json.dumps(evaluate(text, value)) == json.dumps(expected)


@pytest.mark.parametrize(
    ("expression", "problem"),
    [
        ("", "is empty"),
        ("event.", "ends too early"),
        ("event.data.code = 'K'", "syntax error at column 17"),
        ("event data", "syntax error at column 7"),
        ("`6,1`", "syntax error at column 1"),
        ("`K`", "syntax error at column 1"),
        ("event['data']", "syntax error at column 7"),
        ("lower(event.type)", "calls an unknown function, lower()"),
        ("event[?lower(@)]", "calls an unknown function, lower()"),
        ("abs(`1`, `2`)", "calls abs() with 2 argument(s), it takes 1"),
        ("not_null()", "calls not_null() with 0 argument(s), it takes 1 or more"),
        ("sort_by(event, type)", "calls sort_by() without an &expression"),
        ("to_array(&type)", "calls to_array() with an &expression"),
        ("&event", "has an & where no expression is taken"),
        ("event[::0]", "has a slice with step 0"),
        ("(" * 5000 + "event" + ")" * 5000, "is nested too deeply"),
        ("event[" + "9" * 5000 + "]", "syntax error"),
    ],
)
def test_a_wrong_expression_is_refused_when_it_is_compiled(expression: str, problem: str) -> None:
    with pytest.raises(ExpressionError) as refused:
        compile_expression(expression)
    assert str(refused.value) == problem


@pytest.mark.parametrize(
    ("expression", "problem"),
    [
        ("sum(event.subjects)", "sum() takes array-number, not object"),
        ("join('-', [event.subjects.patient, event.data.value])", "join() takes array-string, not number"),
        ("abs(event.subjects.patient)", "abs() takes number, not string"),
        ("sum([event.data.vast, `1`])", "a number is out of range"),
    ],
)
def test_a_failure_names_the_function_and_not_the_value(expression: str, problem: str) -> None:
    with pytest.raises(ExpressionError) as failed:
        evaluate(expression, SCOPE)
    assert str(failed.value) == problem
    assert failed.value.__cause__ is None
    assert failed.value.__suppress_context__


@pytest.mark.parametrize(
    ("selector", "selected"),
    [
        (None, True),
        ("event.data.code == 'K'", True),
        ("event.data.code == 'Na'", False),
        ("event.data.value", True),
        ("`0`", True),
        ("event.data.missing", False),
        ("nodes", False),
        ("''", False),
        ("`[]`", False),
        ("abs(event.type)", False),
        ("this is no expression", False),
    ],
)
def test_an_entry_takes_what_its_selector_finds_true(selector: str | None, selected: bool) -> None:
    event: Any = SCOPE["event"]
    assert selects(selector, event) is selected


@pytest.mark.parametrize("value", [None, False, "", [], {}])
def test_jmespath_has_five_false_values(value: Any) -> None:
    assert not is_true(value)


@pytest.mark.parametrize("value", [True, 0, Decimal("0.0"), " ", [None], {"a": None}])
def test_all_else_is_true(value: Any) -> None:
    assert is_true(value)
