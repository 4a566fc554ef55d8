"""Settling one run: what its invocation came to, and the freeze that follows. The spec's "Settlement"."""

import logging
from collections.abc import Collection, Mapping
from typing import Literal

from meridian.clock import now
from meridian.errors import RestateUnavailable
from meridian.restate.ingress import INGRESS_TIMEOUT_SECONDS, Ingress, OutputAnswer
from meridian.runs.freezing import Count, Source, freeze
from meridian.runs.model import FinalRunStatus, RunRow
from meridian.runs.snapshot import Snapshot, ended_at, final_status_of, holds_state
from meridian.runs.store import RunStore
from meridian.settlement.deadline import Timeout
from meridian.settlement.verdict import Adopt, Freeze, Leave, Live, may_freeze, verdict, withdrawn_request
from meridian.settlement.withdrawal import withdraw_request

logger = logging.getLogger("meridian.runs")

MAX_FAILURE_LENGTH = 200

Outcome = Literal[
    "live",  # it has not ended
    "adopted",  # it has not ended, and its row names this Restate from now on
    "frozen",  # its end was written, by this call
    "ended",  # its end is written by somebody else, or could not be written
    "left",  # it has ended, and only the pass may write so
    "unsettled",  # it cannot be settled now; the next pass reads it again
    "foreign",  # this Restate does not know it and did not accept it
]


def default_timeout() -> float:
    return INGRESS_TIMEOUT_SECONDS


class Settlement:
    """Settles runs through one ingress. Safe to share between threads, and between processes.

    `record_ports` are the context kinds that have a record port. `count` is called once per row written.
    """

    def __init__(self, store: RunStore, ingress: Ingress, record_ports: Collection[str], count: Count) -> None:
        self.store = store
        self.ingress = ingress
        self._record_ports = frozenset(record_ports)
        self._count = count

    def settle(self, row: RunRow, source: Source, timeout: Timeout = default_timeout) -> Outcome:
        """Freezes the run if it has ended; nothing for one that is frozen already.

        Raises `RestateUnavailable` when the ingress does not say whether it has, and `DatabaseUnavailable`.
        """
        if row.final_status is not None:
            return "ended"
        answer = self.ingress.output(row.id, timeout())
        snapshot: Snapshot | None = None
        if answer.state != "live":
            try:
                snapshot = self._last_snapshot(row, answer, timeout)
            except RestateUnavailable:
                return "unsettled"
        found = verdict(row, self.ingress.url, answer, snapshot)
        match found:
            case Live():
                return "live"
            case Leave(foreign):
                return "foreign" if foreign else "unsettled"
            case Adopt(restate_url):
                self.store.set_restate_url(row.id, restate_url)
                return "adopted"
            case Freeze():
                if not may_freeze(source, snapshot):
                    return "left"
                return self._freeze(row, found, answer, snapshot, source, timeout)

    def settle_by_id(self, run_id: str, timeout: Timeout = default_timeout) -> bool:
        """Settles a run for a follow-up; false when Restate could not tell enough, so that it is worth a retry.

        A run that is still live, or whose end only the pass may write, is done with: the pass takes over.
        """
        detail = self.store.get(run_id)
        if detail is None:
            return True
        try:
            return self.settle(detail.run, "read", timeout) != "unsettled"
        except RestateUnavailable:
            return False

    def final_status(self, row: RunRow, timeout: Timeout = default_timeout) -> FinalRunStatus | None:
        """The final status of a run, settled on behalf of a reader; None when it is not known to have ended."""
        try:
            outcome = self.settle(row, "read", timeout)
        except RestateUnavailable:
            return None
        if outcome not in ("frozen", "ended"):
            return None
        detail = self.store.get(row.id)
        return detail.run.final_status if detail is not None else None

    def freeze_terminal(self, row: RunRow, snapshot: Snapshot) -> FinalRunStatus | None:
        """Freezes a run whose snapshot was read completed or failed; the status, or None when it is neither."""
        status = final_status_of(snapshot)
        if status is not None:
            freeze(
                self.store,
                row.id,
                snapshot,
                status,
                ending=status,
                source="read",
                count=self._count,
                updated_at=ended_at(snapshot),
            )
        return status

    def _last_snapshot(self, row: RunRow, answer: OutputAnswer, timeout: Timeout) -> Snapshot | None:
        """What the run last wrote.

        An archived end counts as well: that of a process which was killed between the archive and the status.
        A run that is unknown here and another Restate's is not asked for: `getRun` would say nothing of it.
        """
        archived: Snapshot | None = self.store.get_snapshot(row.id)
        if final_status_of(archived) is not None:
            return archived
        if answer.state == "unknown" and row.restate_url != self.ingress.url:
            return None
        snapshot = self.ingress.get_run(row.id, timeout())
        if not isinstance(snapshot, Mapping):
            raise RestateUnavailable("Restate's answer could not be read.")
        return snapshot

    def _freeze(
        self,
        row: RunRow,
        found: Freeze,
        answer: OutputAnswer,
        snapshot: Snapshot | None,
        source: Source,
        timeout: Timeout,
    ) -> Outcome:
        if found.restate_url is not None:
            self.store.set_restate_url(row.id, found.restate_url)
        pending_id = withdrawn_request(found, snapshot)
        if pending_id is not None and not withdraw_request(self.ingress, row, pending_id, self._record_ports, timeout):
            return "unsettled"
        archived = snapshot if holds_state(snapshot) else None
        if not freeze(
            self.store,
            row.id,
            archived,
            status=found.status,
            ending=found.ending,
            source=source,
            count=self._count,
            updated_at=now(),  # the ingress does not tell when the invocation ended
        ):
            return "ended"
        _log_freeze(row, found, answer, snapshot)
        return "frozen"


def _log_freeze(row: RunRow, found: Freeze, answer: OutputAnswer, snapshot: Snapshot | None) -> None:
    """The spec's line for each freeze of a run that did not end well. `failure` is Restate's or the engine's
    sentence, which holds no subject data by the engine's rule; it is cut all the same."""
    where = {"runId": row.id, "workflow": row.slug}
    code, message = (answer.code, answer.message) if answer.state == "failed" else _written_failure(snapshot)
    failure = "".join(filter(str.isprintable, message))[:MAX_FAILURE_LENGTH]
    if found.ending == "killed":
        logger.info("run arrêté dans Restate : statut figé en échec", extra={**where, "failure": failure})
    elif found.ending == "lost":
        logger.warning("run absent de Restate : statut figé en échec", extra=where)
    elif found.ending == "failed":
        more = {"code": code, "failure": failure}
        logger.warning("run en échec dans Restate : statut figé en échec", extra={**where, **more})


def _written_failure(snapshot: Snapshot | None) -> tuple[int | None, str]:
    """What a run wrote of its failure, where Restate has forgotten it."""
    error = snapshot.get("error") if snapshot is not None else None
    if not isinstance(error, Mapping):
        return None, ""
    return error.get("code"), str(error.get("reason") or "")
