"""The signals that a person sends to a run, and where one stands in a snapshot. Rules without I/O."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from meridian.errors import Conflict
from meridian.runs.snapshot import Snapshot, holds_state

Standing = Literal[
    "open",  # the run waits for it
    "applied",  # the run has taken this one
    "answered",  # the run has taken another one in its place, or did not wait any longer
    "unasked",  # the run does not wait for it, and never has so far
]


MOST_VISIT_DIGITS = 4  # a run visits a thousand nodes


class RunEnded(Conflict):
    """The run has ended and has not applied the signal."""


class NotPending(Conflict):
    """The run does not wait for the signal."""


class AnsweredOtherwise(Conflict):
    """Another signal was applied in its place, or none in time; `output` is what the node's visit came to."""

    def __init__(self, detail: str, output: Mapping[str, Any]) -> None:
        super().__init__(detail)
        self.output = output


@dataclass(frozen=True, slots=True)
class Decision:
    """The decision of a validation: it applies to the request `id` and to no other."""

    id: str
    outcome: str
    by: str | None = None
    comment: str | None = None
    data: Any = None

    part: ClassVar[str] = "pending"
    mark: ClassVar[str] = "decidedAt"
    run_ended: ClassVar[str] = "run terminé : aucune validation en attente"
    not_pending: ClassVar[str] = "The run does not wait for this decision."
    answered: ClassVar[str] = "Another decision was applied to this request."

    def as_json(self) -> dict[str, Any]:
        return {"pendingId": self.id, **self._taken()}

    def is_in(self, output: Mapping[str, Any]) -> bool:
        """Whether this decision is what a visit of the validation came to."""
        return all(same(output.get(name), value) for name, value in self._taken().items())

    def _taken(self) -> dict[str, Any]:
        return {"outcome": self.outcome, "by": self.by, "comment": self.comment, "data": self.data}


@dataclass(frozen=True, slots=True)
class Resumption:
    """What a wait node waits for: it applies to the wait `id` and to no other."""

    id: str
    data: Any = None

    part: ClassVar[str] = "waiting"
    mark: ClassVar[str] = "resumed"
    run_ended: ClassVar[str] = "run terminé : aucune attente en cours"
    not_pending: ClassVar[str] = "The run does not wait at this node."
    answered: ClassVar[str] = "The wait ended without this."

    def as_json(self) -> dict[str, Any]:
        return {"waitId": self.id, "data": self.data}

    def is_in(self, output: Mapping[str, Any]) -> bool:
        """Whether this is what a visit of the wait node came to, and not its timeout."""
        return output.get("resumed") is True and same(output.get("data"), self.data)


def same(left: Any, right: Any) -> bool:
    """Whether two JSON values are equal. To Python `true` is 1, and a value nested deeply is too deep to compare."""
    waiting = [(left, right)]
    while waiting:
        one, other = waiting.pop()
        if isinstance(one, dict) and isinstance(other, dict):
            if one.keys() != other.keys():
                return False
            waiting.extend((member, other[key]) for key, member in one.items())
        elif isinstance(one, list) and isinstance(other, list):
            if len(one) != len(other):
                return False
            waiting.extend(zip(one, other, strict=True))
        elif isinstance(one, bool) != isinstance(other, bool) or one != other:
            return False
    return True


Signal = Decision | Resumption


def standing(signal: Signal, snapshot: Snapshot) -> Standing:
    """Where `signal` stands in the snapshot of its run."""
    waits_for = snapshot.get(signal.part)
    if waits_for and waits_for.get("id") == signal.id:
        return "open"
    output = answer_to(signal, snapshot)
    if output is None:
        return "unasked"
    return "applied" if signal.is_in(output) else "answered"


def answer_to(signal: Signal, snapshot: Snapshot) -> Mapping[str, Any] | None:
    """The output of the visit that a signal's id names, once it was answered: `ask` is the first visit of the node
    `ask`, and `ask.3` its third. None for the output of a node of another kind, which has not the mark of one that
    takes such signals."""
    node, dot, number = signal.id.partition(".")
    visits = [entry for entry in snapshot.get("trace") or () if entry.get("node") == node]
    is_visit = number.isascii() and number.isdigit() and len(number) <= MOST_VISIT_DIGITS
    index = int(number) - 1 if is_visit else 0
    if (dot and index < 1) or index >= len(visits) or visits[index].get("endedAt") is None:
        return None
    output = visits[index].get("output")
    return output if isinstance(output, Mapping) and signal.mark in output else None


FeedResult = Literal["applied", "duplicate", "rejected", "accepted"]

NOT_APPLIED = "décision sur un run terminé : validation non appliquée"
NEVER_ASKED = "The run never asked for this decision."


def after_the_end(decision: Decision, archived: Snapshot | None) -> tuple[FeedResult, str | None]:
    """What a decision feed is answered for a run that has ended, from its archived snapshot.

    A run that ended without applying the decision (it still waits on that validation, or holds no state) rejects
    it; one that applied a decision with this outcome makes it a duplicate. (Spec: Reading a frozen run)
    """
    if archived is None or not holds_state(archived) or standing(decision, archived) == "open":
        return "rejected", NOT_APPLIED
    output = answer_to(decision, archived)
    if output is None:
        return "rejected", NEVER_ASKED
    return as_duplicate(decision, output)


def as_duplicate(decision: Decision, output: Mapping[str, Any]) -> tuple[FeedResult, str | None]:
    """What a decision feed is answered for a validation that is decided: the outcome is what counts."""
    if output.get("outcome") == decision.outcome:
        return "duplicate", None
    return "rejected", Decision.answered
