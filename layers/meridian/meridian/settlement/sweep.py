"""The settlement pass: every live row, one pass at a time, from where the last one stopped."""

import logging
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Protocol

from meridian.errors import DatabaseUnavailable, RestateUnavailable
from meridian.restate.ingress import INGRESS_TIMEOUT_SECONDS
from meridian.runs.model import RunRow
from meridian.settlement.deadline import Deadline, request_timeout
from meridian.settlement.lease import Lease
from meridian.settlement.settling import Outcome, Settlement
from meridian.settlement.walk import LiveRows, Page, SharedWalk, Stop

logger = logging.getLogger("meridian.runs")

PAGE_SIZE = 100
INTROSPECTED_PAGE_SIZE = 1_000
CONCURRENCY = 16
# A row that was begun before the deadline may end this much after it.
GRACE_SECONDS = 2.0
# So many rows in a row that the ingress does not answer for: it is down, and the pass ends.
MAX_UNANSWERED = 3 * CONCURRENCY


class Introspection(Protocol):
    """Restate's own list of invocations."""

    def live_runs(self, run_ids: Sequence[str], timeout: float) -> set[str]:
        """Those of `run_ids` that have not ended. Raises `RestateUnavailable`."""
        ...


@dataclass(frozen=True, slots=True)
class PassResult:
    """What a pass came to: `result["frozen"]` rows, and so on for each outcome."""

    ran: bool  # false when another pass was at work
    finished: bool = False  # false when it stopped before the last row
    rows: Mapping[Outcome, int] = field(default_factory=dict)

    def __getitem__(self, outcome: Outcome) -> int:
        return self.rows.get(outcome, 0)


class SettlementPass:
    """One walk over the live rows: those of its own Restate first, then the others, oldest first.

    A pass that its deadline cuts short leaves its position to the next one. It gives its second half to the newest
    rows, because that is where runs end: ten thousand runs that wait for months delay none that ends today.

    `introspection`, where given, tells which of a thousand rows are worth a call to the ingress. `span` is entered
    once around a pass.
    """

    def __init__(
        self,
        settlement: Settlement,
        lease: Lease,
        span: Callable[[], AbstractContextManager[object]],
        introspection: Introspection | None = None,
        concurrency: int = CONCURRENCY,
    ) -> None:
        self._settlement = settlement
        self._lease = lease
        self._span = span
        self._introspection = introspection
        self._concurrency = concurrency

    def run(self, deadline: Deadline) -> PassResult:
        """Settles rows until the last one or the deadline. Raises `DatabaseUnavailable`."""
        if not self._lease.take():
            logger.debug("another settlement pass is at work")
            return PassResult(ran=False)
        try:
            with self._span():
                return _Pass(self._settlement, self._lease, self._introspection, self._concurrency, deadline).run()
        finally:
            self._lease.release()


class _Pass:
    """The state of one pass."""

    def __init__(
        self,
        settlement: Settlement,
        lease: Lease,
        introspection: Introspection | None,
        concurrency: int,
        deadline: Deadline,
    ) -> None:
        self._settlement = settlement
        self._lease = lease
        self._introspection = introspection
        self._concurrency = concurrency
        self._deadline = deadline
        self._url = settlement.ingress.url
        self._rows = LiveRows(settlement.store, self._url, self._page_size, self._worth_a_call)
        self._lock = threading.Lock()
        self._outcomes: Counter[Outcome] = Counter()
        self._unanswered = 0  # rows since the ingress last answered

    def run(self) -> PassResult:
        start = self._lease.position()
        walk = self._settle_all(self._rows.oldest_first(start), self._deadline.half())
        # A pass that had no time for a single row goes on where the one before it stopped, as the next one will.
        self._lease.save_position(None if walk.is_finished else walk.position or start)
        if not walk.is_finished and walk.position is not None:
            self._settle_all(self._rows.newest_first(until=walk.position), self._deadline)
        return self._result(walk.is_finished)

    def _result(self, finished: bool) -> PassResult:
        foreign = self._outcomes["foreign"]
        if foreign:
            logger.warning(
                f"{foreign} run(s) d'un autre Restate ou sans Restate d'origine, non réglé(s)",
                extra={"count": foreign, "restate": self._url},
            )
        return PassResult(True, finished, {name: count for name, count in self._outcomes.items() if count})

    def _settle_all(self, stops: Iterator[Stop], until: Deadline) -> SharedWalk:
        """Walks `stops` with several threads, and renews the lease meanwhile."""
        walk = SharedWalk(stops, until)
        with ThreadPoolExecutor(self._concurrency, thread_name_prefix="settle") as pool:
            workers = [pool.submit(self._work, walk) for _ in range(self._concurrency)]
            try:
                while wait(workers, timeout=self._lease.seconds / 6).not_done:
                    if not self._lease.take():
                        logger.warning("the settlement pass lost its lease")
                        self._deadline.stop()
            except BaseException:
                self._deadline.stop()  # the workers end before this block does
                raise
        for worker in workers:
            worker.result()
        return walk

    def _work(self, walk: SharedWalk) -> None:
        try:
            while (row := walk.take()) is not None:
                self._settle(row)
        except BaseException:
            self._deadline.stop()
            raise

    def _settle(self, row: RunRow) -> None:
        answered = True
        # Its requests one after the other end with the pass: each by itself could, and all together not.
        until = Deadline(self._deadline.remaining() + GRACE_SECONDS)

        def timeout() -> float:
            return request_timeout(min(self._timeout(), until.remaining()))

        try:
            outcome = self._settlement.settle(row, "sweep", timeout)
        except RestateUnavailable:
            outcome, answered = "unsettled", False
        except DatabaseUnavailable:
            raise
        except Exception as error:  # one row that cannot be settled must not keep the others from it
            # without the error's message and trace, which may hold data of the run
            what = {"runId": row.id, "error": type(error).__name__}
            logger.error("a run could not be settled", extra=what)  # noqa: TRY400
            outcome = "unsettled"
        with self._lock:
            self._outcomes[outcome] += 1
            self._unanswered = 0 if answered else self._unanswered + 1
            is_down = self._unanswered == MAX_UNANSWERED
        if is_down:
            logger.warning("Restate does not answer: the settlement pass ends", extra={"restate": self._url})
            self._deadline.stop()

    def _timeout(self) -> float:
        return min(INGRESS_TIMEOUT_SECONDS, self._deadline.remaining() + GRACE_SECONDS)

    def _page_size(self) -> int:
        return PAGE_SIZE if self._introspection is None else INTROSPECTED_PAGE_SIZE

    def _worth_a_call(self, page: Page) -> Page:
        """The rows of `page` that have to be settled: all but those known to be live on the Restate they name."""
        if self._introspection is None:
            return page
        try:
            live = self._introspection.live_runs([row.id for row in page], self._timeout())
        except RestateUnavailable:
            logger.warning("Restate's admin API does not answer: rows are read one by one")
            self._introspection = None
            return page
        rows = [row for row in page if not (row.id in live and row.restate_url == self._url)]
        with self._lock:
            self._outcomes["live"] += len(page) - len(rows)
        return rows
