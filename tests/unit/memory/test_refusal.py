"""What a refused write was, as a table."""

from datetime import UTC, datetime

import pytest

from meridian.memory.model import Address, Conflicted, Current, Write, Written, WrittenBy
from meridian.memory.rules import verdict_on_refusal

ADDRESS = Address("patient", "p-1", "workflow", "alert", "last")
DEADLINE = datetime(2026, 12, 30, tzinfo=UTC)
AGAIN = None


def there(version: int, run: str = "e-2:alert", node: str = "remember") -> Current:
    return Current(version, DEADLINE, run, node)


@pytest.mark.parametrize(
    ("expected", "current", "verdict"),
    [
        # by the same run and node path: it happened
        (None, there(7, "e-1:alert"), Written(7, DEADLINE)),
        (0, there(7, "e-1:alert"), Written(7, DEADLINE)),
        (5, there(7, "e-1:alert"), Written(7, DEADLINE)),
        # by another run, or by another visit of this one: a conflict
        (0, there(7), Conflicted(7)),
        (5, there(7), Conflicted(7)),
        (0, there(7, "e-1:alert", "remember.2"), Conflicted(7)),
        (5, there(7, "e-1:alert", "remember.2"), Conflicted(7)),
        (5, None, Conflicted(0)),
        # what refused it is gone: again
        (0, None, AGAIN),
        (None, None, AGAIN),
        (None, there(7), AGAIN),
        (7, there(7), AGAIN),
        # written by nobody that is known
        (0, Current(7, None, None, None), Conflicted(7)),
    ],
)
def test_a_refused_write_is(
    expected: int | None, current: Current | None, verdict: Written | Conflicted | None
) -> None:
    visit = WrittenBy("alert", "e-1:alert", "remember")
    write = Write(ADDRESS, "{}", "T", "1", visit, expected_version=expected)
    assert verdict_on_refusal(write, current) == verdict
