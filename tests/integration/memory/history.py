"""Whether what callers of workflow memory saw could have happened one operation after another.

Each address is checked by itself. An operation took effect at some instant between its call and its answer; the
search looks for an order of those instants under which every answer is right (Wing and Gong's algorithm, as in
Lowe, "Testing for linearizability").

Three things are not as in a plain register:

- *Versions.* An answer names the version that a write took, so it is known which write a read saw. In the order
  that is looked for versions must go up.
- *Expiry.* An item ends by the clock, between operations. An operation may take an item for live when its call
  was before the item's deadline, and for expired when its answer was after it. PostgreSQL runs on the same
  machine, so both sides read one clock.
- *Cut connections.* An operation that was sent again after its connection died may have taken effect each time,
  and the answer tells of the last time only. Each earlier sending is a *ghost*: an effect that may or may not have
  been. So is an operation whose caller gave up. Ghosts explain no more surplus effects than there were cuts.
"""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from math import inf
from typing import Literal, NamedTuple

from meridian.memory.model import NO_ITEM, Conflicted, Forgotten, Item, Written

CLOCK_SLACK = 50e-6  # seconds by which two readings of one clock may be rounded
UNSEEN = -1  # the version of a ghost that no answer ever named

Answer = Item | Written | Conflicted | Forgotten | None


@dataclass(frozen=True)
class Operation:
    """One operation as its caller saw it."""

    kind: Literal["read", "write", "forget"]
    start: float  # seconds of the system's clock, before the call
    end: float  # and after the answer
    answer: Answer  # None for a read of nothing
    tag: int = 0  # of a write: the value, which no other write has
    expected: int | None = None
    retention: float = inf  # of a write, in seconds
    sendings: int = 1  # how often the statement may have reached the server
    answered: bool = True  # false when the caller gave up


class Event(NamedTuple):
    """An operation, or a ghost of one, in the search."""

    operation: Operation
    is_ghost: bool
    start: float
    end: float


class State(NamedTuple):
    current: int  # version at the address, NO_ITEM, or UNSEEN
    highest: int  # of all versions so far


class History:
    """The operations on one address, and whether there is an order for them."""

    def __init__(self, operations: Iterable[Operation]) -> None:
        self.operations = list(operations)
        self._deadlines: dict[int, float] = {}  # by version
        self._tags: dict[int, int] = {}
        self._versions: dict[int, set[int]] = defaultdict(set)  # of a tag, as answers named them
        self._unexplained: set[int] = set()  # versions in conflicts that no write and no read named
        for operation in self.operations:
            self._learn(operation)
        self._answered_versions = sorted(
            operation.answer.version for operation in self.operations if isinstance(operation.answer, Written)
        )
        for operation in self.operations:
            if isinstance(operation.answer, Conflicted) and operation.answer.current_version not in self._tags:
                self._unexplained.add(operation.answer.current_version)
        self._unexplained.discard(NO_ITEM)

    def _learn(self, operation: Operation) -> None:
        answer, tag = operation.answer, operation.tag
        if isinstance(answer, Item):
            tag = int(answer.value)
        if isinstance(answer, Item | Written):
            if self._tags.setdefault(answer.version, tag) != tag:
                raise AssertionError(f"version {answer.version} was given twice")
            assert answer.expires_at is not None
            self._deadlines[answer.version] = answer.expires_at.timestamp()
            self._versions[tag].add(answer.version)

    def is_sequential(self) -> bool:
        """Whether some order explains all answers. Searches depth first, and no place of the search twice."""
        events = sorted(self._events(), key=lambda event: event.start)
        places = [(0, frozenset[int](), State(NO_ITEM, NO_ITEM))]
        seen = set(places)
        while places:
            first, done, state = places.pop()
            if first == len(events):
                return True
            for number, after in self._branches(events, first, done, state):
                place = (*_advance(first, done | {number}), after)
                if place not in seen:
                    seen.add(place)
                    places.append(place)
        return False

    def _branches(self, events: list[Event], first: int, done: frozenset[int], state: State) -> list[tuple[int, State]]:
        """What may come next, the likeliest last.

        An answer that is right now and changes nothing may come at once: no order needs it later.
        """
        branches = []
        for number in _next(events, first, done):
            event = events[number]
            after = [*self._steps(state, event)]
            if after == [state] and not event.is_ghost:
                return [(number, state)]
            branches += [(number, one) for one in after]
        return sorted(branches, key=lambda branch: (not events[branch[0]].is_ghost, -events[branch[0]].end))

    def _events(self) -> Iterator[Event]:
        for operation in self.operations:
            ghosts = operation.sendings - 1 if operation.answered else operation.sendings
            if operation.kind != "read":
                for _ in range(ghosts):
                    yield Event(operation, is_ghost=True, start=operation.start, end=operation.end)
            if operation.answered:
                yield Event(operation, is_ghost=False, start=operation.start, end=operation.end)

    def _steps(self, state: State, event: Event) -> Iterator[State]:
        """The states after `event`; none when its answer is wrong in `state`."""
        if event.is_ghost:
            yield state
            yield from self._ghost_steps(state, event.operation)
            return
        operation, answer = event.operation, event.operation.answer
        match answer:
            case None if self._may_be_absent(state, operation):
                yield state
            case Item() if state.current == answer.version and self._may_be_live(state, operation):
                yield state
            case Written() if answer.version == self._next_version(state) and self._may_write(state, operation):
                yield State(answer.version, answer.version)
            case Forgotten(forgotten=True) if self._may_remove(state, operation):
                yield state._replace(current=NO_ITEM)
            case Forgotten(forgotten=False) if self._may_be_absent(state, operation):
                yield state._replace(current=NO_ITEM)
            case Conflicted(current_version=0) if operation.expected != 0:
                if operation.kind == "write" and self._may_be_absent(state, operation):
                    yield state
            case Conflicted() if state.current == answer.current_version != operation.expected:
                if operation.expected is not None and self._may_be_live(state, operation):
                    yield state

    def _ghost_steps(self, state: State, operation: Operation) -> Iterator[State]:
        if operation.kind == "forget":
            if self._may_remove(state, operation):
                yield state._replace(current=NO_ITEM)
        elif self._may_write(state, operation):
            for version in self._versions[operation.tag] | self._unexplained:
                if state.highest < version < self._next_version(state):
                    yield State(version, version)
            yield state._replace(current=UNSEEN)

    def _next_version(self, state: State) -> float:
        """Versions go up: of the writes that are left, only the one with the lowest version may come next."""
        place = bisect_right(self._answered_versions, state.highest)
        return self._answered_versions[place] if place < len(self._answered_versions) else inf

    def _may_write(self, state: State, operation: Operation) -> bool:
        if operation.expected is None:
            return True
        if operation.expected == NO_ITEM:
            return self._may_be_absent(state, operation)
        return state.current == operation.expected and self._may_be_live(state, operation)

    def _may_remove(self, state: State, operation: Operation) -> bool:
        is_expected = operation.expected is None or state.current == operation.expected
        return is_expected and state.current != NO_ITEM and self._may_be_live(state, operation)

    def _may_be_live(self, state: State, operation: Operation) -> bool:
        return operation.start <= self._deadlines.get(state.current, inf) + CLOCK_SLACK

    def _may_be_absent(self, state: State, operation: Operation) -> bool:
        if state.current == NO_ITEM:
            return True
        return operation.end >= self._deadlines.get(state.current, -inf) - CLOCK_SLACK


def _next(events: list[Event], first: int, done: frozenset[int]) -> list[int]:
    """The events that may come next: those that began before any that is left had ended."""
    horizon, found = inf, []
    for number in range(first, len(events)):
        if events[number].start > horizon:
            break
        if number not in done:
            horizon = min(horizon, events[number].end)
            found.append(number)
    return [number for number in found if events[number].start <= horizon]


def _advance(first: int, done: frozenset[int]) -> tuple[int, frozenset[int]]:
    """The same place, with what is done at its front counted instead of named."""
    start = first
    while first in done:
        first += 1
    return first, done - frozenset(range(start, first))
