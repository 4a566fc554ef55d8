"""Removing in batches what is no longer needed, within the time that is left."""

from collections.abc import Callable

BATCH = 1000
# What a batch, slow ones included, and the end of the invocation may take.
MARGIN_MILLIS = 5_000


def sweep(delete: Callable[[int], int], remaining_millis: Callable[[], int], limit: int = BATCH) -> int:
    """Calls `delete(limit)` until it finds less than a whole batch, or the time is short; how many it removed.

    Each batch commits by itself. What is left, by the deadline or because another sweep holds it, is for the next
    sweep.
    """
    removed = 0
    while remaining_millis() > MARGIN_MILLIS:
        batch = delete(limit)
        removed += batch
        if batch < limit:
            break
    return removed
