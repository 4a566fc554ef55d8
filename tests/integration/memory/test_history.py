"""The check of histories accepts what can happen, and nothing else."""

from datetime import UTC, datetime
from typing import Any

import pytest

from meridian.memory.model import Address, Conflicted, Forgotten, Item, Written
from tests.integration.memory.history import History, Operation

ADDRESS = Address("patient", "p", "workflow", "alert", "k")
FAR = 4e9


def at(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)


def wrote(start: float, end: float, version: int, tag: int, **more: Any) -> Operation:
    expires = more.pop("expires", FAR)
    return Operation("write", start, end, Written(version, at(expires)), tag=tag, **more)


def refused(start: float, end: float, current: int, expected: int, **more: Any) -> Operation:
    return Operation("write", start, end, Conflicted(current), tag=99, expected=expected, **more)


def read(start: float, end: float, version: int, tag: int, expires: float = FAR) -> Operation:
    item = Item(ADDRESS, "{}", "Integer", str(tag), version, at(0), at(expires), "{}")
    return Operation("read", start, end, item)


def read_nothing(start: float, end: float) -> Operation:
    return Operation("read", start, end, None)


def forgot(start: float, end: float, forgotten: bool = True, **more: Any) -> Operation:
    return Operation("forget", start, end, Forgotten(forgotten), **more)


@pytest.mark.parametrize(
    "operations",
    [
        [read_nothing(0, 1), wrote(2, 3, 5, 1), read(4, 5, 5, 1), forgot(6, 7), read_nothing(8, 9)],
        # two at once, in either order
        [wrote(0, 9, 5, 1), wrote(0, 9, 6, 2), read(10, 11, 6, 2)],
        # a read during a write sees it or not
        [wrote(0, 9, 5, 1), read_nothing(1, 2), read(3, 4, 5, 1)],
        # one of two that expect the same version
        [wrote(0, 1, 5, 1), wrote(2, 9, 6, 2, expected=5), refused(2, 9, 6, 5)],
        # expired: absent to all
        [wrote(0, 1, 5, 1, expires=2), read_nothing(3, 4), refused(3, 4, 0, 5), wrote(5, 6, 7, 2, expected=0)],
        # sent twice, and effective twice: another write in between was replaced
        [wrote(0, 9, 7, 1, sendings=2), read(1, 2, 5, 1), wrote(3, 4, 6, 2), read(10, 11, 7, 1)],
        # sent twice, and refused by what somebody else wrote over the first effect
        [wrote(0, 1, 5, 1), refused(2, 9, 7, 5, sendings=2), wrote(3, 4, 7, 2)],
        # given up, and effective
        [Operation("write", 0, 5, None, tag=1, answered=False), read(6, 7, 5, 1)],
        # given up, and never sent
        [Operation("write", 0, 5, None, tag=1, answered=False), read_nothing(6, 7)],
        # given up, and known from a conflict alone
        [Operation("write", 0, 5, None, tag=1, answered=False), refused(6, 7, 5, 0)],
        # a forget whose first sending removed the item
        [wrote(0, 1, 5, 1), forgot(2, 3, forgotten=False, sendings=2), read_nothing(4, 5)],
    ],
)
def test_what_can_happen_is_accepted(operations: list[Operation]) -> None:
    assert History(operations).is_sequential()


@pytest.mark.parametrize(
    "operations",
    [
        pytest.param([wrote(0, 1, 5, 1), read_nothing(2, 3)], id="a write is lost"),
        pytest.param([wrote(0, 1, 5, 1), wrote(2, 3, 6, 2), read(4, 5, 5, 1)], id="an old value comes back"),
        pytest.param([wrote(0, 1, 6, 1), wrote(2, 3, 5, 2)], id="a version goes down"),
        pytest.param([wrote(0, 1, 6, 1), forgot(2, 3), wrote(4, 5, 5, 2)], id="a version goes down after a forget"),
        pytest.param(
            [wrote(0, 1, 5, 1), wrote(2, 9, 6, 2, expected=5), wrote(2, 9, 7, 3, expected=5)],
            id="two win on one version",
        ),
        pytest.param([wrote(0, 9, 5, 1, expected=0), wrote(0, 9, 6, 2, expected=0)], id="two win on nothing"),
        pytest.param([wrote(0, 1, 5, 1, expires=2), read(3, 4, 5, 1, expires=2)], id="an expired item is read"),
        pytest.param([wrote(0, 1, 5, 1, expires=2), refused(3, 4, 5, 0)], id="an expired item refuses"),
        pytest.param([wrote(0, 1, 5, 1, expires=2), forgot(3, 4)], id="an expired item is forgotten"),
        pytest.param([wrote(0, 1, 5, 1), refused(2, 3, 0, 5)], id="a live item is taken for expired"),
        pytest.param([wrote(0, 1, 5, 1), refused(2, 3, 5, 5)], id="a condition that holds is refused"),
        pytest.param([read_nothing(0, 1), refused(2, 3, 0, 0)], id="nothing conflicts with nothing"),
        pytest.param([wrote(0, 1, 5, 1), forgot(2, 3), forgot(4, 5)], id="one item is forgotten twice"),
        pytest.param([wrote(0, 1, 5, 1), forgot(2, 3, forgotten=False)], id="a forget leaves the item"),
        pytest.param([wrote(0, 1, 5, 1), forgot(2, 3, expected=4)], id="a forget removes another version"),
        pytest.param(
            [wrote(0, 9, 7, 1), read(1, 2, 5, 1), wrote(3, 4, 6, 2)], id="two effects of one that was sent once"
        ),
        pytest.param([read(0, 1, 5, 1)], id="a value that nobody wrote"),
    ],
)
def test_what_cannot_happen_is_found(operations: list[Operation]) -> None:
    assert not History(operations).is_sequential()


def test_a_version_that_two_values_have_is_found() -> None:
    with pytest.raises(AssertionError, match="given twice"):
        History([wrote(0, 1, 5, 1), wrote(2, 3, 5, 2)])


def test_a_long_history_of_many_at_once_is_checked_quickly() -> None:
    operations = [wrote(number, number + 15, number + 1, number) for number in range(2_500)]
    assert History(operations).is_sequential()
    assert not History([*operations, read(3_000, 3_001, 2_000, 1_999)]).is_sequential()
