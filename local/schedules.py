"""The template's schedules, ticking on one machine."""

from __future__ import annotations

import json
import threading
import time
import uuid
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from datetime import UTC, datetime

from local.functions import ACCOUNT, REGION
from local.model import Schedule

SETTLEMENT = "SettlementFunction"


class Ticker:
    """Calls each scheduled function at its rate. A tick that takes longer than the rate delays the next ones."""

    def __init__(self, schedules: Iterable[Schedule], invoke: Callable[[str, bytes], object]) -> None:
        self._schedules = tuple(schedules)
        self._invoke = invoke
        self._stopped = threading.Event()

    def start(self) -> None:
        for schedule in self._schedules:
            name = f"schedule {schedule.function}"
            threading.Thread(target=self._tick, args=(schedule,), daemon=True, name=name).start()

    def stop(self) -> None:
        self._stopped.set()

    def _tick(self, schedule: Schedule) -> None:
        due = time.monotonic() + schedule.seconds
        while not self._stopped.wait(max(0, due - time.monotonic())):
            self._invoke(schedule.function, (schedule.input or json.dumps(scheduled_event())).encode())
            due = max(due + schedule.seconds, time.monotonic())


def effective_schedules(schedules: Iterable[Schedule], environment: Mapping[str, str]) -> list[Schedule]:
    """The schedules with settlement's rate as `RUN_SETTLE_INTERVAL_MS` says where it is set; 0 leaves it out.

    EventBridge cannot tick faster than once a minute; one machine can. Raises `ValueError` for a bad setting.
    """
    text = environment.get("RUN_SETTLE_INTERVAL_MS", "")
    if not text:
        return list(schedules)
    if not (text.isascii() and text.isdigit()):
        raise ValueError("RUN_SETTLE_INTERVAL_MS must be a whole number of milliseconds, at least 0.")
    seconds = int(text) / 1000
    adjusted = [replace(s, seconds=seconds) if s.function == SETTLEMENT else s for s in schedules]
    return [schedule for schedule in adjusted if schedule.seconds > 0]


def scheduled_event() -> dict[str, object]:
    """The event that EventBridge makes for a tick."""
    return {
        "version": "0",
        "id": str(uuid.uuid4()),
        "detail-type": "Scheduled Event",
        "source": "aws.events",
        "account": ACCOUNT,
        "time": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "region": REGION,
        "resources": [f"arn:aws:events:{REGION}:{ACCOUNT}:rule/local"],
        "detail": {},
    }
