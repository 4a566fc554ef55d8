"""The order in which a settlement pass walks the live rows."""

import threading
from collections.abc import Callable, Iterator

from meridian.runs.model import Position, RunRow
from meridian.runs.store import RunStore
from meridian.settlement.deadline import Deadline
from meridian.settlement.position import WalkPosition

Stop = tuple[WalkPosition, RunRow | None]
"""A place on the way, and the row to settle there, if any."""

Page = list[RunRow]
WorthACall = Callable[[Page], Page]
"""The rows of a page that have to be settled one by one."""


class LiveRows:
    """The live rows as one Restate sees them, page by page. `page_size` is asked for before each page."""

    def __init__(
        self, store: RunStore, restate_url: str, page_size: Callable[[], int], worth_a_call: WorthACall
    ) -> None:
        self._store = store
        self._restate_url = restate_url
        self._page_size = page_size
        self._worth_a_call = worth_a_call

    def oldest_first(self, start: WalkPosition | None) -> Iterator[Stop]:
        """First the rows of this Restate, then those of the others, each oldest first, from behind `start`."""
        for own in (True, False):
            if own and start is not None and not start.own:
                continue
            after = start.row if start is not None and start.own == own else None
            yield from self._pages(own, after, newest_first=False)

    def newest_first(self, until: WalkPosition) -> Iterator[Stop]:
        """The rows of this Restate from the newest back to `until`."""
        for position, row in self._pages(own=True, after=None, newest_first=True):
            if until.own and (position.row.created_at, position.row.id) <= (until.row.created_at, until.row.id):
                return
            yield position, row

    def _pages(self, own: bool, after: Position | None, newest_first: bool) -> Iterator[Stop]:
        while True:
            size = self._page_size()
            page = self._store.live(self._restate_url, own=own, after=after, newest_first=newest_first, limit=size)
            for row in self._worth_a_call(page) if page else ():
                yield WalkPosition(own, Position(row.created_at, row.id)), row
            if page:
                after = Position(page[-1].created_at, page[-1].id)
                yield WalkPosition(own, after), None
            if len(page) < size:
                return


class SharedWalk:
    """One walk taken by several threads, a row each, until its end or its deadline."""

    def __init__(self, stops: Iterator[Stop], deadline: Deadline) -> None:
        self._stops = stops
        self._deadline = deadline
        self._lock = threading.Lock()
        self.position: WalkPosition | None = None  # the last stop that was handed out
        self.is_finished = False

    def take(self) -> RunRow | None:
        """The next row; None when there is none, or when it is time to stop."""
        with self._lock:
            while not (self.is_finished or self._deadline.has_passed):
                stop = next(self._stops, None)
                if stop is None:
                    self.is_finished = True
                    return None
                self.position, row = stop
                if row is not None:
                    return row
        return None
