"""The table of docs/performance.md, made of what `make bench` measured."""

from typing import Any

import pytest

from scripts.performance_table import duration, with_table

PAGE = "# Performance\n\n<!-- table: how -->\nold\n<!-- end -->\n\nmore\n"


def results(ratio: float, limit: float | None = 1.3) -> dict[str, Any]:
    row = {"name": "a list", "measured": 0.00123, "baseline": 0.001, "ratio": ratio, "limit": limit}
    return {"machine": "a machine", "rows": [row]}


def test_the_measurements_stand_between_the_marks() -> None:
    page = with_table(PAGE, results(1.23))

    assert "| a list | 1.23 ms | 1.00 ms | 1.23 | 1.3 |" in page
    assert "On a machine, one run:" in page
    assert "old" not in page
    assert page.endswith("<!-- end -->\n\nmore\n")


def test_writing_again_changes_nothing() -> None:
    page = with_table(PAGE, results(1.23))

    assert with_table(page, results(1.23)) == page


def test_a_ratio_over_its_limit_is_said() -> None:
    assert "| 1.31 (over) | 1.3 |" in with_table(PAGE, results(1.31))


def test_a_ratio_without_a_limit_is_never_over_it() -> None:
    assert "| 1.31 | none |" in with_table(PAGE, results(1.31, limit=None))


def test_a_page_without_marks_is_an_error() -> None:
    with pytest.raises(ValueError, match="no place"):
        with_table("# Performance\n", results(1.0))


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (75.04, "75.0 s"),
        (1.5, "1.50 s"),
        (0.9994, "999 ms"),
        (0.0124, "12.4 ms"),
        (0.001, "1.00 ms"),
        (2.7e-4, "270 µs"),
    ],
)
def test_a_duration_has_three_digits_in_a_unit_for_people(seconds: float, text: str) -> None:
    assert duration(seconds) == text
