"""Freezing the end of a run, once."""

import logging
from collections.abc import Callable
from typing import Literal

from meridian.clock import now
from meridian.errors import DatabaseUnavailable
from meridian.runs.model import FinalRunStatus
from meridian.runs.snapshot import Snapshot
from meridian.runs.store import RunStore

logger = logging.getLogger("meridian.runs")

Ending = Literal["completed", "failed", "killed", "lost"]
Source = Literal["read", "sweep"]
Count = Callable[[Ending, Source], None]


def freeze(
    store: RunStore,
    run_id: str,
    snapshot: Snapshot | None,
    status: FinalRunStatus,
    *,
    ending: Ending,
    source: Source,
    count: Count,
    updated_at: str | None = None,
) -> bool:
    """Archives the snapshot, then sets the final status; true when this call set it. (Spec: Freezing)

    The archive comes first. A status frozen without an archive would never be caught up, since a frozen status
    short-circuits every later read; an archive whose freeze failed is written again at the next read. Both are
    best-effort: a database out of reach leaves the run as it is. The freeze that wrote the row is counted once.

        reader A   archive ─ set status (wins, counts)
        reader B      archive (kept as it is) ─ set status (finds it set, changes nothing)
        a crash    archive ─ ✗            next reader: archive (kept) ─ set status (wins, counts)
    """
    try:
        if snapshot is not None:
            store.save_snapshot(run_id, snapshot)
        won = store.set_final_status(run_id, status, updated_at or now())
    except DatabaseUnavailable:
        logger.warning("run not frozen: the database is out of reach", extra={"runId": run_id})
        return False
    if won:
        count(ending, source)
    return won
