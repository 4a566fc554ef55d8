"""The volume of events: how many of each type on each of the last days. Rules without I/O."""

from collections import defaultdict
from collections.abc import Iterable
from datetime import date, timedelta
from typing import Any

from meridian.runs.model import EventVolume

DAYS = 7


def volume_days(today: date) -> list[str]:
    """The UTC days of the volume, oldest first, today the last."""
    return [(today - timedelta(days=back)).isoformat() for back in reversed(range(DAYS))]


def volume_by_type(volumes: Iterable[EventVolume], days: list[str]) -> list[dict[str, Any]]:
    """Each event type with its distinct events per day of `days` (0 where there were none) and their total."""
    counted: dict[str, dict[str, int]] = defaultdict(dict)
    for volume in volumes:
        counted[volume.event_type][volume.day] = volume.events
    return [
        {
            "eventType": event_type,
            "days": [{"day": day, "events": of_type.get(day, 0)} for day in days],
            "total": sum(of_type.get(day, 0) for day in days),
        }
        for event_type, of_type in sorted(counted.items())
    ]
