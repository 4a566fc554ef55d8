"""Sixteen writers on eight addresses, connections cut at random: one order of operations explains what all saw."""

import random
from collections import Counter

import pytest

from meridian.database import open_database
from meridian.memory import queries
from meridian.memory.model import Address, Conflicted, Forgotten, Item, Write, Written
from meridian.memory.store import MemoryStore, _item, open_memory_store
from tests.integration.memory.history import History, Operation
from tests.integration.memory.workload import ADDRESSES, MakeStore, cutting, run_workload


@pytest.fixture
def url(postgres_url: str) -> str:
    open_memory_store(open_database(postgres_url)).database.close()
    return postgres_url


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_twenty_thousand_operations_of_sixteen_writers_have_one_order(url: str) -> None:
    with cutting(url, every_seconds=0.02, seed=4) as cuts:
        histories = run_workload(url, MemoryStore, writers=16, operations=20_000, addresses=ADDRESSES, seed=4)

    operations = [operation for history in histories.values() for operation in history]
    assert len(operations) == 20_000
    # the test is worth something only if all of it happened
    answers = Counter(_summary(operation) for operation in operations if operation.answered)
    print(answers, "cuts", len(cuts), "sent again", sum(op.sendings > 1 for op in operations))
    assert len(cuts) > 100
    assert sum(op.sendings > 1 for op in operations) > 50
    assert min(answers.values()) > 5
    for address in ADDRESSES:
        assert History(histories[address]).is_sequential(), address


def _summary(operation: Operation) -> str:
    condition = {None: "any", 0: "absent"}.get(operation.expected, "version")
    return f"{operation.kind} {condition} {type(operation.answer).__name__}"


class _ReadsThenWrites(MemoryStore):
    """Checks the condition in one statement and writes in another: two writers may both find it met."""

    def write(self, write: Write) -> Written | Conflicted:
        item = self.read(write.address)
        version = item.version if item is not None else 0
        if write.expected_version not in {None, version}:
            return Conflicted(version)
        return super().write(write._replace(expected_version=None))


class _AnswersTooEarly(MemoryStore):
    """Now and then answers a write that it has not kept."""

    chance = random.Random(1)

    def write(self, write: Write) -> Written | Conflicted:
        if self.chance.random() > 0.01:
            return super().write(write)
        rows = self.database.execute("SELECT nextval('workflow_memory_version_seq'), now() + interval '1 hour'")
        return Written(*rows[0])


class _ShowsTheExpired(MemoryStore):
    """Reads what has expired until it is swept."""

    def read(self, address: Address) -> Item | None:
        rows = self.database.execute(READ_ANY, address._asdict())
        return _item(rows[0]) if rows else None


class _ForgetsTwice(MemoryStore):
    """Says that it removed an item whenever one was there just before."""

    def forget(self, address: Address, expected_version: int | None = None) -> Forgotten | Conflicted:
        was_there = self.read(address) is not None
        outcome = super().forget(address, expected_version)
        return Forgotten(was_there) if isinstance(outcome, Forgotten) else outcome


READ_ANY = queries.READ.replace(">", "IS DISTINCT FROM")


@pytest.mark.parametrize(
    "faulty",
    [_ReadsThenWrites, _AnswersTooEarly, _ShowsTheExpired, _ForgetsTwice],
)
def test_a_planted_fault_is_found(url: str, faulty: MakeStore) -> None:
    histories = run_workload(url, faulty, writers=8, operations=1_600, addresses=ADDRESSES[:2], seed=7)
    assert not all(_is_sequential(history) for history in histories.values())


def test_without_turns_versions_would_go_down(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("WRITE", "WRITE_IF_ABSENT", "WRITE_IF_VERSION"):
        statement = getattr(queries, name)
        lock = statement[statement.index("pg_advisory_xact_lock") : statement.index(" IS NOT NULL\n    THEN")]
        monkeypatch.setattr(queries, name, statement.replace(lock, "1"))
    histories = run_workload(url, MemoryStore, writers=16, operations=4_000, addresses=ADDRESSES[:2], seed=7)
    assert not all(_is_sequential(history) for history in histories.values())


def test_without_a_fault_the_same_work_has_one_order(url: str) -> None:
    histories = run_workload(url, MemoryStore, writers=8, operations=1_600, addresses=ADDRESSES[:2], seed=7)
    assert all(_is_sequential(history) for history in histories.values())


def _is_sequential(operations: list[Operation]) -> bool:
    try:
        return History(operations).is_sequential()
    except AssertionError:
        return False
