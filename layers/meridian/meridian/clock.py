"""Time as the run index writes it: ISO 8601, UTC, milliseconds, `Z`.

Every timestamp has this one form of 24 characters, so that their order as text is their order in time.
"""

from datetime import UTC, datetime, timedelta


def now() -> str:
    """The current time, e.g. `2026-11-30T20:09:00.123Z`."""
    return text(datetime.now(UTC))


def text(moment: datetime) -> str:
    """`moment` (aware) in the form of the run index, cut to milliseconds."""
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").removesuffix("+00:00") + "Z"


def age(moment: str) -> timedelta:
    """How long ago `moment`, in the form of the run index, was. Raises `ValueError` for another form."""
    return datetime.now(UTC) - datetime.fromisoformat(moment)


def ago(**duration: float) -> str:
    """The time `duration` (as for `timedelta`) before now."""
    return text(datetime.now(UTC) - timedelta(**duration))
