"""Sending a signal to a run, and saying truly what came of it.

Restate answers a signal to a run that was killed with success, and nothing follows. So a run that waits is settled
before its signal, and the answer rests on what a snapshot shows afterwards and never on Restate's acceptance.
"""

import time
from collections.abc import Mapping
from typing import Literal

from meridian.errors import FieldError, InvalidInput, NotFound, RestateUnavailable
from meridian.restate.ingress import SignalAnswer
from meridian.runs.model import RunRow
from meridian.runs.snapshot import Snapshot, final_status_of
from meridian.settlement.deadline import Deadline
from meridian.settlement.follow_ups import FollowUps
from meridian.settlement.settling import Settlement
from meridian.settlement.verdict import is_waiting
from meridian.signals.model import (
    AnsweredOtherwise,
    Decision,
    NotPending,
    RunEnded,
    Signal,
    answer_to,
    standing,
)

READ_TIMEOUT_SECONDS = 3.0
APPLIED_WITHIN_SECONDS = 2.0
FIRST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS = 0.02, 0.25

Applied = Literal[
    "applied",  # a snapshot shows it
    "duplicate",  # a snapshot showed it before it was sent again
    "accepted",  # it was sent, and no snapshot shows yet what came of it
]


class Signals:
    """Decisions and resumptions. Safe to share between threads."""

    def __init__(self, settlement: Settlement, follow_ups: FollowUps) -> None:
        self._settlement = settlement
        self._store = settlement.store
        self._ingress = settlement.ingress
        self._follow_ups = follow_ups

    def send(self, run_id: str, signal: Signal) -> Applied:
        """Signals a run, and waits up to two seconds for a snapshot that shows the signal applied.

        Raises `NotFound`; `RunEnded` (without a call to Restate for a frozen run), `NotPending` and
        `AnsweredOtherwise`; `InvalidInput` for an outcome that the request does not offer; `RestateUnavailable`
        when it cannot be sent. To send one again is harmless.
        """
        detail = self._store.get(run_id)
        if detail is None:
            raise NotFound("There is no such run.")
        row = detail.run
        if row.final_status is not None:
            raise RunEnded(signal.run_ended)
        if self._is_sent_already(row, signal):
            return "duplicate"
        answer = self._signal(row, signal)
        if answer.reason == "unknown_outcome":
            what = "is not an outcome of this request"
            raise InvalidInput(f"/outcome: {what}.", errors=[FieldError("body", "/outcome", what)])
        is_applied = self._await_application(row, signal, Deadline(APPLIED_WITHIN_SECONDS))
        if not is_applied and answer.reason == "not_pending":
            raise NotPending(signal.not_pending)
        self._follow_ups.schedule([run_id])
        return "applied" if is_applied else "accepted"

    def _is_sent_already(self, row: RunRow, signal: Signal) -> bool:
        """Settles a run that waits; true when it shows the signal applied, false when it waits for it."""
        snapshot = self._snapshot(row, READ_TIMEOUT_SECONDS)
        if self._has_ended(row, snapshot, Deadline(READ_TIMEOUT_SECONDS)):
            raise RunEnded(signal.run_ended)
        match standing(signal, snapshot):
            case "open":
                return False
            case "applied":
                return True
            case "answered":
                raise AnsweredOtherwise(signal.answered, answer_to(signal, snapshot) or {})
            case "unasked":
                raise NotPending(signal.not_pending)

    def _signal(self, row: RunRow, signal: Signal) -> SignalAnswer:
        send = self._ingress.decide if isinstance(signal, Decision) else self._ingress.resume
        return send(row.id, signal.as_json(), READ_TIMEOUT_SECONDS)

    def _await_application(self, row: RunRow, signal: Signal, deadline: Deadline) -> bool:
        """Looks until a snapshot shows what came of the signal; false when none did in time."""
        pause = FIRST_PAUSE_SECONDS
        while True:
            try:
                if self._is_applied(row, signal, deadline):
                    return True
            except RestateUnavailable:
                pass  # the signal is sent: what it came to will be known later
            if deadline.remaining() <= pause:
                return False
            time.sleep(pause)
            pause = min(pause * 2, LONGEST_PAUSE_SECONDS)

    def _is_applied(self, row: RunRow, signal: Signal, deadline: Deadline) -> bool:
        """Whether the run shows the signal applied; false while that is open.

        Raises `RunEnded` and `AnsweredOtherwise` when it will not be applied any more.
        """
        snapshot = self._snapshot(row, deadline.remaining())
        has_ended = self._has_ended(row, snapshot, deadline)
        if has_ended and final_status_of(snapshot) is None:  # it went on between the snapshot and its end
            snapshot = self._store.get_snapshot(row.id) or snapshot
        match standing(signal, snapshot):
            case "applied":
                return True
            case "answered":
                raise AnsweredOtherwise(signal.answered, answer_to(signal, snapshot) or {})
        if has_ended:
            raise RunEnded(signal.run_ended)
        return False

    def _has_ended(self, row: RunRow, snapshot: Snapshot, deadline: Deadline) -> bool:
        """Freezes the run if `snapshot` is terminal, and settles it if it waits."""
        if self._settlement.freeze_terminal(row, snapshot) is not None:
            return True
        if not is_waiting(snapshot):
            return False
        return self._settlement.final_status(row, lambda: max(deadline.remaining(), 0.1)) is not None

    def _snapshot(self, row: RunRow, timeout: float) -> Snapshot:
        snapshot = self._ingress.get_run(row.id, max(timeout, 0.1))
        if not isinstance(snapshot, Mapping):
            raise RestateUnavailable("Restate's answer could not be read.")
        return snapshot
