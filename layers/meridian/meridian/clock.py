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
    """How long ago `moment` was; one without an offset is UTC. Raises `ValueError` for what is no time."""
    then = datetime.fromisoformat(moment)
    return datetime.now(UTC) - (then if then.tzinfo is not None else then.replace(tzinfo=UTC))


def ago(**duration: float) -> str:
    """The time `duration` (as for `timedelta`) before now."""
    return text(datetime.now(UTC) - timedelta(**duration))
