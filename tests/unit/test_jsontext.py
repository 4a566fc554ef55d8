"""Digits survive, and what is not JSON is refused without repeating it."""

from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from meridian.jsontext import InvalidJson, embedded, parse, parse_sent, serialize

JSON_VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.decimals(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(codec="utf-8")),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(st.characters(codec="utf-8")), inner),
    max_leaves=20,
)


@pytest.mark.parametrize("text", ["6.10", "-0.0", "0", "9007199254740993", "1E+5", "1E-7", "0.1000000000000000055511"])
def test_every_digit_of_a_number_is_kept(text: str) -> None:
    assert serialize(parse(text)) == text


@given(JSON_VALUES)
def test_what_is_written_reads_back_the_same(value: Any) -> None:
    assert parse(serialize(value)) == value
    assert parse(serialize(value).encode()) == value


def test_text_is_compact_and_keeps_non_ascii() -> None:
    assert serialize({"prénom": ["Zoë", 1, None, True]}) == '{"prénom":["Zoë",1,null,true]}'


def test_a_text_is_embedded_as_it_is() -> None:
    assert serialize({"value": embedded('{"level": 6.10}')}) == '{"value":{"level": 6.10}}'


def test_the_last_of_two_equal_keys_wins() -> None:
    assert parse('{"a": 1, "a": 2}') == {"a": 2}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "not JSON at line 1, column 1"),
        ('{"patient": p-42}', "not JSON at line 1, column 13"),
        ('{"a": 1}\n}', "not JSON at line 2, column 1"),
        ('"p-42\x01"', "not JSON at line 1, column 6"),
        ("NaN", "not JSON at line 1, column 1"),
        ("-Infinity", "not JSON at line 1, column 1"),
        (b'"\xe9"', "not UTF-8 at byte 1"),
        ("[" * 1_000_000, "nested too deeply"),
        ('{"a":' * 200_000, "nested too deeply"),
        ("9" * 5_000, "a number is too long"),
        ('{"a":1e99999999999999999999}', "a number is out of range"),
        ("[-1e-99999999999999999999]", "a number is out of range"),
    ],
)
def test_a_refusal_names_the_position_only(text: str | bytes, message: str) -> None:
    with pytest.raises(InvalidJson) as refused:
        parse(text)
    assert str(refused.value) == message


@pytest.mark.parametrize(("opens", "closes"), [("[", "]"), ('{"a":', "}")])
def test_what_comes_from_outside_is_nested_two_hundred_levels_deep_at_most(opens: str, closes: str) -> None:
    """With room to the interpreter's own limit, so that it can be read again within a row or a snapshot."""

    def nested(levels: int) -> bytes:
        return (opens * levels + '"[{"' + closes * levels).encode()

    assert serialize(parse_sent(nested(200))).encode() == nested(200)
    with pytest.raises(InvalidJson, match="nested too deeply"):
        parse_sent(nested(201))
    assert parse_sent(b"[" + b"[]," * 300 + b"{}]")[-1] == {}


def test_nan_is_let_through_for_a_caller_who_names_the_field() -> None:
    assert repr(parse("[NaN, -Infinity]", allow_nan=True)) == "[nan, -inf]"


@pytest.mark.parametrize("value", [float("nan"), float("inf"), Decimal("NaN"), Decimal("-Infinity")])
def test_a_number_that_is_not_finite_is_not_written(value: float | Decimal) -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        serialize({"value": value})


def test_a_value_json_cannot_express_is_named_by_its_type_alone() -> None:
    with pytest.raises(TypeError, match=r"^set is not a JSON value$"):
        serialize({"patient": {"p-42"}})


def test_a_value_nested_too_deeply_is_not_written() -> None:
    value: list[Any] = []
    for _ in range(100_000):
        value = [value]
    with pytest.raises(ValueError, match="nested too deeply"):
        serialize(value)
    while value:  # taken apart by hand: the interpreter's own clean-up is not what is tested
        value = value[0]
