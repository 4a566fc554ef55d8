"""How long a piece of work may still take, and whether it was told to stop."""

import threading
import time
from collections.abc import Callable

from meridian.restate.ingress import INGRESS_TIMEOUT_SECONDS

SHORTEST_REQUEST_SECONDS = 0.1

Timeout = Callable[[], float]
"""How many seconds the next request may take."""


def request_timeout(seconds: float) -> float:
    """What a request to the ingress may take of `seconds` that are left: never none, and never more than any may."""
    return max(SHORTEST_REQUEST_SECONDS, min(INGRESS_TIMEOUT_SECONDS, seconds))


class Deadline:
    """A moment by which to be done. `stop()` brings it forward to now, from any thread."""

    def __init__(self, seconds: float) -> None:
        self._at = time.monotonic() + seconds
        self._stopped = threading.Event()

    def stop(self) -> None:
        self._stopped.set()

    @property
    def has_passed(self) -> bool:
        """Whether nothing new is to be begun."""
        return self._stopped.is_set() or time.monotonic() >= self._at

    def remaining(self) -> float:
        """Seconds until then, 0 at least."""
        return 0.0 if self._stopped.is_set() else max(0.0, self._at - time.monotonic())

    def half(self) -> "Deadline":
        """The moment half way there, stopped together with this one."""
        halfway = Deadline(self.remaining() / 2)
        halfway._stopped = self._stopped
        return halfway
