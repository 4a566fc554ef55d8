"""A cursor names a row exactly, and is nothing else."""

import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st

from meridian.cursor import decode_cursor, encode_cursor
from meridian.errors import InvalidInput

TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\0"))


@given(st.lists(TEXT, min_size=1, max_size=4))
def test_a_cursor_reads_back_as_the_position(position: list[str]) -> None:
    cursor = encode_cursor(*position)
    assert decode_cursor(cursor, len(position)) == position
    assert set(cursor) <= set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_")


def as_cursor(text: str) -> str:
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


@pytest.mark.parametrize(
    "cursor",
    [
        "",
        "é",
        "!!",
        "abc",
        as_cursor("not JSON"),
        as_cursor('{"a":1}'),
        as_cursor('["one"]'),
        as_cursor('["one","two","three"]'),
        as_cursor('["one",2]'),
        as_cursor('["one","\\u0000"]'),
        as_cursor('["one","\\ud800"]'),
    ],
)
def test_another_text_is_refused_by_the_name_of_the_field(cursor: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        decode_cursor(cursor, 2)
    assert [(error.place, error.pointer) for error in refused.value.errors] == [("query", "/cursor")]
