"""Reading runs: the list and the detail, live from Restate or from the archive."""

import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import Any, Literal, NamedTuple, Protocol

from meridian import jsontext
from meridian.errors import NotFound, RestateUnavailable
from meridian.restate.ingress import OutputAnswer
from meridian.runs.freezing import Count, freeze
from meridian.runs.model import FinalRunStatus, Position, RunFilter, RunRow, RunStatus
from meridian.runs.snapshot import (
    EMPTY,
    Snapshot,
    ended_at,
    final_status_of,
    holds_state,
    node_statuses,
    served_snapshot,
)
from meridian.runs.store import RunStore

READ_BUDGET_SECONDS = 3.0  # of a list or a detail for all that it asks of Restate
READERS = 32


class SnapshotReader(Protocol):
    """What reading asks of Restate."""

    url: str

    def get_run(self, run_id: str, timeout: float | None = None) -> Any: ...

    def output(self, run_id: str, timeout: float | None = None) -> OutputAnswer: ...


# Settles one run whose last snapshot is suspended or waiting, and returns its final status when it has ended.
Settle = Callable[[RunRow, Snapshot], FinalRunStatus | None]
# The document of a published version.
FindSpec = Callable[[str, int], Any | None]


class ListedRun(NamedTuple):
    """A run of a list with the status that is served."""

    run: RunRow
    status: RunStatus


class RunPage(NamedTuple):
    """A page of runs, and where the next one begins."""

    runs: Sequence[ListedRun]
    next: Position | None


class RunView(NamedTuple):
    """All that a run's own page shows."""

    run: RunRow
    status: RunStatus
    event: Any
    snapshot: dict[str, Any] | None  # None: Restate did not answer, and nothing is archived
    node_status: dict[str, str]
    spec: Any | None
    source: Literal["live", "archive"] | None


class RunReader:
    """Reads runs for people. A snapshot that is read completed or failed is frozen. (Spec: Freezing, Reads)"""

    def __init__(
        self,
        store: RunStore,
        restate: SnapshotReader,
        find_spec: FindSpec,
        *,
        count: Count,
        settle: Settle | None = None,
    ) -> None:
        self._store = store
        self._restate = restate
        self._find_spec = find_spec
        self._count = count
        self._settle = settle
        self._readers = ThreadPoolExecutor(READERS, thread_name_prefix="read-run")

    def page(self, chosen: RunFilter, after: Position | None, limit: int) -> RunPage:
        """A page of the list: frozen rows as they are, live rows as Restate tells them within 3 s in all.

        A row that Restate does not answer for in time is served as `unknown`, so the list answers while
        Restate is down.
        """
        rows = self._store.find(chosen, after, limit + 1)
        page = rows[:limit]
        statuses = self._live_statuses([row for row in page if row.final_status is None])
        listed = [ListedRun(row, row.final_status or statuses[row.id]) for row in page]
        following = Position(page[-1].created_at, page[-1].id) if len(rows) > limit else None
        return RunPage(listed, following)

    def detail(self, run_id: str) -> RunView:
        """One run. Raises `NotFound`. (Spec: Reading a frozen run)"""
        found = self._store.get(run_id)
        if found is None:
            raise NotFound("There is no such run.")
        run = found.run
        live = self._snapshot(run_id, READ_BUDGET_SECONDS)
        final_status = run.final_status or self._frozen_by_reading(run, live)
        archived = None
        if final_status is not None and final_status_of(live) is None:
            archived = self._store.get_snapshot(run_id)
        snapshot = archived if archived is not None else live
        spec = self._spec(run, found.spec_json)
        served = served_snapshot(snapshot, final_status) if snapshot is not None or final_status else None
        return RunView(
            run=run if run.final_status == final_status else run._replace(final_status=final_status),
            status=final_status or self._status(run, live, READ_BUDGET_SECONDS),
            event=found.event,
            snapshot=served,
            node_status=node_statuses(spec, served or EMPTY),
            spec=spec,
            source="archive" if archived is not None else "live" if live is not None else None,
        )

    def _frozen_by_reading(self, run: RunRow, live: Snapshot | None) -> FinalRunStatus | None:
        """The final status of a live row, when what was just read of it is its end."""
        if live is None:
            return None
        final_status = self._freeze_if_terminal(run, live)
        if final_status is None and self._settle is not None and live.get("status") in ("suspended", "waiting"):
            return self._settle(run, live)
        return final_status

    def _live_statuses(self, rows: Sequence[RunRow]) -> dict[str, RunStatus]:
        """The status of each live row, asked concurrently within one budget of time."""
        deadline = time.monotonic() + READ_BUDGET_SECONDS
        asked = {row.id: self._readers.submit(self._live_status, row, deadline) for row in rows}
        wait(asked.values(), timeout=READ_BUDGET_SECONDS)
        return {row.id: self._answered(row, asked[row.id]) for row in rows}

    def _answered(self, row: RunRow, asked: "Future[tuple[RunStatus, Snapshot | None]]") -> RunStatus:
        asked.cancel()
        if not asked.done() or asked.cancelled():
            return "unknown"
        status, snapshot = asked.result()
        return (self._freeze_if_terminal(row, snapshot) if snapshot is not None else None) or status

    def _live_status(self, row: RunRow, deadline: float) -> tuple[RunStatus, Snapshot | None]:
        remaining = deadline - time.monotonic()
        snapshot = self._snapshot(row.id, remaining) if remaining > 0 else None
        return self._status(row, snapshot, deadline - time.monotonic()), snapshot

    def _status(self, row: RunRow, snapshot: Snapshot | None, remaining: float) -> RunStatus:
        """The status of a live row.

        The empty placeholder is that of a run that has not begun, and also of one that Restate lost or forgot:
        only the invocation's output tells them apart, so that a run that is gone is not shown as running.
        """
        if snapshot is None:
            return "unknown"
        if holds_state(snapshot):
            status: RunStatus = snapshot["status"]
            return status
        if remaining <= 0:
            return "unknown"
        try:
            answer = self._restate.output(row.id, timeout=remaining)
        except RestateUnavailable:
            return "unknown"
        return "running" if answer.state == "live" else "unknown"

    def _snapshot(self, run_id: str, timeout: float) -> Snapshot | None:
        try:
            snapshot = self._restate.get_run(run_id, timeout=timeout)
        except RestateUnavailable:
            return None
        return snapshot if isinstance(snapshot, dict) else None

    def _freeze_if_terminal(self, run: RunRow, snapshot: Snapshot) -> FinalRunStatus | None:
        final_status = final_status_of(snapshot)
        if final_status is not None:
            freeze(
                self._store,
                run.id,
                snapshot,
                final_status,
                ending=final_status,
                source="read",
                count=self._count,
                updated_at=ended_at(snapshot),
            )
        return final_status

    def _spec(self, run: RunRow, spec_json: str | None) -> Any | None:
        """What the run was started with: its own spec, else the published version it names."""
        if spec_json is not None:
            return jsontext.parse(spec_json)
        if run.spec_version is None:
            return None
        return self._find_spec(run.slug, run.spec_version)
