"""Time as the run index writes it: in one form, whose order as text is the order in time."""

from datetime import UTC, datetime, timedelta, timezone

import pytest

from meridian.clock import text


@pytest.mark.parametrize(
    ("moment", "written"),
    [
        (datetime(2026, 11, 30, 20, 9, 0, 123_999, UTC), "2026-11-30T20:09:00.123Z"),
        (datetime(2026, 11, 30, 20, 9, tzinfo=timezone(timedelta(hours=-5))), "2026-12-01T01:09:00.000Z"),
        (datetime(1, 2, 3, tzinfo=UTC), "0001-02-03T00:00:00.000Z"),
    ],
)
def test_every_time_has_24_characters_of_utc(moment: datetime, written: str) -> None:
    assert text(moment) == written
