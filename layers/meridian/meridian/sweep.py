"""Removing in batches what is no longer needed, within the time that is left."""

import time
from collections.abc import Callable

BATCH = 1000
# What a batch, slow ones included, and the end of the invocation may take.
MARGIN_MILLIS = 5_000


def sweep(delete: Callable[[int], int], remaining_millis: Callable[[], int], limit: int = BATCH) -> int:
    """Calls `delete(limit)` until it finds less than a whole batch, or the time is short; how many it removed.

    Each batch commits by itself, and is followed by a rest as long as it took: at least half of the time the database
    is with those who read and write. What is left, by the deadline or because another sweep holds it, is for the next
    sweep.
    """
    removed = 0
    while remaining_millis() > MARGIN_MILLIS:
        began = time.monotonic()
        batch = delete(limit)
        removed += batch
        if batch < limit:
            break
        time.sleep(time.monotonic() - began)
    return removed
