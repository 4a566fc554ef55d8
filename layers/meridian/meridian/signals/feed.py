"""The decision feed: up to a hundred decisions at once, each answered for itself."""

import logging
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

from meridian.errors import InvalidInput, NotFound, RestateUnavailable, Unavailable
from meridian.runs.store import RunStore
from meridian.settlement.deadline import Deadline
from meridian.signals.model import (
    AnsweredOtherwise,
    Decision,
    FeedResult,
    NotPending,
    RunEnded,
    after_the_end,
    as_duplicate,
)
from meridian.signals.service import Signals

logger = logging.getLogger("meridian.runs")

MAX_DECISIONS = 100
FEED_SECONDS = 15.0  # after which no decision is begun; one takes eleven seconds at most
SENDERS = 25  # a hundred decisions that are all waited for take four rounds of two seconds


class FeedDecision(NamedTuple):
    """One decision of a feed."""

    run_id: str
    decision: Decision


class FeedAnswer(NamedTuple):
    """What became of it: `applied`, `duplicate`, `rejected` with the reason, or `accepted` when it is sent and no
    snapshot shows yet what came of it: sent again later, it is a duplicate or rejected."""

    run_id: str
    pending_id: str
    result: FeedResult
    reason: str | None = None

    def as_json(self) -> dict[str, Any]:
        return {
            "runId": self.run_id,
            "pendingId": self.pending_id,
            "result": self.result,
            "reason": self.reason,
        }


class DecisionFeed:
    """Takes feeds. Each may be sent again as a whole."""

    def __init__(self, signals: Signals, store: RunStore) -> None:
        self._signals = signals
        self._store = store
        self._senders = ThreadPoolExecutor(SENDERS, thread_name_prefix="decide")

    def take(self, decisions: Sequence[FeedDecision]) -> list[FeedAnswer]:
        """An answer per decision, in their order. The decisions of one run are taken one after the other.

        Raises `Unavailable`, with the answers of the others in `results`, when some could not be taken: that one,
        those of its run behind it, and what there was no time for.
        """
        by_run: dict[str, list[int]] = {}
        for number, item in enumerate(decisions):
            by_run.setdefault(item.run_id, []).append(number)
        answers: dict[int, FeedAnswer] = {}
        failures: list[Unavailable] = []
        deadline = Deadline(FEED_SECONDS)

        def take_run(numbers: Sequence[int]) -> None:
            for number in numbers:
                try:
                    if deadline.has_passed:
                        raise RestateUnavailable("There was no time for this decision.")
                    answers[number] = self._take(decisions[number])
                except Unavailable as error:
                    failures.append(error)
                    return

        for taken in [self._senders.submit(take_run, numbers) for numbers in by_run.values()]:
            taken.result()
        ordered = [answers[number] for number in sorted(answers)]
        if failures:
            extra = {"results": [answer.as_json() for answer in ordered]}
            raise type(failures[0])("Some decisions could not be taken: send the feed again.", extra=extra)
        return ordered

    def _take(self, item: FeedDecision) -> FeedAnswer:
        result, reason = self._answer(item.run_id, item.decision)
        if result == "rejected":
            logger.warning("résolution rejetée", extra={"runId": item.run_id, "reason": reason})
        return FeedAnswer(item.run_id, item.decision.id, result, reason)

    def _answer(self, run_id: str, decision: Decision) -> tuple[FeedResult, str | None]:
        try:
            return self._signals.send(run_id, decision), None
        except RunEnded:
            return after_the_end(decision, self._store.get_snapshot(run_id))
        except AnsweredOtherwise as conflict:  # of the same outcome, with another comment, say, it is a duplicate
            return as_duplicate(decision, conflict.output)
        except (NotFound, NotPending, InvalidInput) as problem:
            return "rejected", problem.detail
