"""When a sweep goes on and when it stops."""

import time
from collections.abc import Callable, Iterator

import pytest

from meridian.sweep import MARGIN_MILLIS, sweep


def rows(count: int) -> tuple[Callable[[int], int], list[int]]:
    """A table with `count` rows to delete, and what each call deleted."""
    batches: list[int] = []

    def delete(limit: int) -> int:
        batches.append(min(limit, count - sum(batches)))
        return batches[-1]

    return delete, batches


@pytest.mark.parametrize(
    ("count", "batches"), [(0, [0]), (9, [9]), (10, [10, 0]), (25, [10, 10, 5]), (30, [10, 10, 10, 0])]
)
def test_it_goes_on_until_less_than_a_batch_is_found(count: int, batches: list[int]) -> None:
    delete, done = rows(count)
    assert sweep(delete, lambda: 60_000, limit=10) == count
    assert done == batches


def test_it_stops_before_the_deadline() -> None:
    delete, done = rows(1_000)
    clock: Iterator[int] = iter([MARGIN_MILLIS + 2, MARGIN_MILLIS + 1, MARGIN_MILLIS, 0])
    assert sweep(delete, lambda: next(clock), limit=10) == 20
    assert done == [10, 10]


def test_it_does_not_begin_what_it_has_no_time_for() -> None:
    delete, done = rows(1_000)
    assert sweep(delete, lambda: MARGIN_MILLIS, limit=10) == 0
    assert done == []


def test_it_rests_as_long_as_a_batch_took_but_not_after_the_last() -> None:
    delete, done = rows(25)

    def slowly(limit: int) -> int:
        time.sleep(0.02)
        return delete(limit)

    began = time.monotonic()
    sweep(slowly, lambda: 60_000, limit=10)
    assert time.monotonic() - began >= 3 * 0.02 + 2 * 0.02
    assert done == [10, 10, 5]
