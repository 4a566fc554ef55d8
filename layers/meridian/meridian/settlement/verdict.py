"""What a settlement makes of a run: the verdict over its row, Restate's answer and its snapshot. No I/O.

The spec's "Settlement" in one function. What it says of a run rests on where an answer comes from, which
`OutputAnswer` has told apart, and never on a code alone: a run may itself end with code 404, 409 or 470.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from meridian.restate.ingress import OutputAnswer
from meridian.runs.freezing import Ending, Source
from meridian.runs.model import FinalRunStatus, RunRow
from meridian.runs.snapshot import Snapshot, final_status_of, holds_state

# What Restate itself ends an invocation with when an operator stops it.
STOPPED_CODE = 409
STOPPED_MESSAGES = ("killed", "cancelled")


@dataclass(frozen=True, slots=True)
class Live:
    """The run has not ended, on the Restate that its row names."""


class Adopt(NamedTuple):
    """The run has not ended, and this Restate knows it: the row is to name this one."""

    restate_url: str


class Freeze(NamedTuple):
    """The run has ended."""

    status: FinalRunStatus
    ending: Ending
    restate_url: str | None = None  # what the row is to name, where it names another Restate


class Leave(NamedTuple):
    """Nothing can be said of the run. `foreign`: because it is not this Restate's to say."""

    foreign: bool


Verdict = Live | Adopt | Freeze | Leave


def verdict(row: RunRow, own_url: str, answer: OutputAnswer, snapshot: Snapshot | None) -> Verdict:
    """What becomes of a live `row`, read by the Restate at `own_url`.

    `snapshot` is the run's last one, or None when it was not read: an invocation that is live needs none.
    """
    adopted = own_url if answer.state != "unknown" and row.restate_url != own_url else None
    if answer.state == "live":
        return Adopt(adopted) if adopted else Live()

    written = final_status_of(snapshot)  # what the run wrote at its end always wins
    if written is not None:
        return Freeze(written, written, adopted)
    if answer.state == "completed":
        return Freeze("completed", "completed", adopted)
    if answer.state == "failed":
        return Freeze("failed", "killed" if was_stopped(answer) else "failed", adopted)

    if row.restate_url != own_url:  # only the Restate that accepted a run can say that it lost it
        return Leave(foreign=True)
    return Leave(foreign=False) if holds_state(snapshot) else Freeze("failed", "lost")


def was_stopped(answer: OutputAnswer) -> bool:
    """Whether an operator ended the invocation in Restate, by a kill or a cancellation.

    Both are a person's intervention and not a failure of the run, so both count as `killed`. A run whose own
    `fail` node says 409 "killed" is told apart by the terminal snapshot that it wrote.
    """
    return answer.state == "failed" and answer.code == STOPPED_CODE and answer.message in STOPPED_MESSAGES


def may_freeze(source: Source, snapshot: Snapshot | None) -> bool:
    """Whether a verdict may be carried out on behalf of `source`.

    The pass carries out every one. A read freezes what the run wrote at its end, and settles a run whose last
    snapshot waits for somebody; one killed while its last snapshot is running waits for the pass.
    """
    if source == "sweep" or final_status_of(snapshot) is not None:
        return True
    return is_waiting(snapshot)


def is_waiting(snapshot: Snapshot | None) -> bool:
    """Whether the last snapshot is suspended or waiting: only then does a read settle the run as well."""
    return snapshot is not None and snapshot.get("status") in ("suspended", "waiting")


def withdrawn_request(frozen: Freeze, snapshot: Snapshot | None) -> str | None:
    """The id of the validation request that has to be withdrawn before the run is frozen, if any.

    It is that of a run which was killed, or ended in another failure, while its last snapshot waited on it.
    """
    if snapshot is None or frozen.ending not in ("killed", "failed") or final_status_of(snapshot) is not None:
        return None
    pending = snapshot.get("pending")
    return str(pending["id"]) if isinstance(pending, Mapping) and pending.get("id") else None
