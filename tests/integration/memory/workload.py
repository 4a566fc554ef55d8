"""Many writers on few addresses, while connections are cut: makes the history that `history` checks."""

import random
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import psycopg

from meridian.database.postgres import PostgresDatabase, connect_to
from meridian.errors import DatabaseUnavailable
from meridian.memory.model import Address, Conflicted, Item, Write, Written, WrittenBy
from meridian.memory.store import MemoryStore
from tests.integration.memory.history import Operation

ADDRESSES = [
    *(Address("patient", f"sub-zq7-{number}", "workflow", "alert", "key-zq7") for number in range(3)),
    *(Address("patient", "sub-zq7-1", "subject", "", key) for key in ("key-zq7", "key-zq7 first", "key-zq7%")),
    *(Address("", "", "workflow-global", "alert", key) for key in ("key-zq7", "KEY-zq7")),
]
RETENTIONS = (0.002, 0.02, 0.2, 3600.0)  # seconds; a short one ends within a few operations
TRIES = 5  # as the engine's: a call that finds the database away is made again

MakeStore = Callable[[PostgresDatabase], MemoryStore]
Histories = dict[Address, list[Operation]]


@dataclass
class Writer:
    """One process: a connection of its own, and what it saw."""

    url: str
    name: str
    make_store: MakeStore
    addresses: list[Address]
    random: random.Random
    connections: int = 0
    histories: Histories = field(default_factory=dict)
    seen: dict[Address, int] = field(default_factory=dict)  # the last version that this writer saw

    def __post_init__(self) -> None:
        self.database = PostgresDatabase(self.url, self._connect)
        self.store = self.make_store(self.database)

    def _connect(self) -> "psycopg.Connection[tuple[Any, ...]]":
        self.connections += 1
        return connect_to(self.url)

    def work(self, operations: int) -> Histories:
        while not self._is_connected():
            pass
        for number in range(operations):
            address = self.random.choice(self.addresses)
            operation = self._operate(address, number)
            self.histories.setdefault(address, []).append(operation)
        self.database.close()
        return self.histories

    def _is_connected(self) -> bool:
        try:
            self.database.execute("SELECT 1")
        except DatabaseUnavailable:
            return False
        return True

    def _operate(self, address: Address, number: int) -> Operation:
        kind = self.random.choices(("read", "write", "forget"), (35, 50, 15))[0]
        expected = self.random.choice((None, 0, self.seen.get(address, 0), self.seen.get(address, 0)))
        if kind == "read":
            return self._observed(address, lambda: self.store.read(address), kind="read")
        if kind == "forget":
            return self._observed(
                address, lambda: self.store.forget(address, expected), kind="forget", expected=expected
            )
        retention, tag = self.random.choice(RETENTIONS), int(self.name) * 1_000_000 + number
        write = Write(
            address=address,
            type="{}",
            type_name="Integer",
            value=str(tag),
            written_by=WrittenBy("alert", f"event-{self.name}:alert", f"node.{number}"),
            expected_version=expected,
            retention=timedelta(seconds=retention),
        )
        return self._observed(
            address,
            lambda: self.store.write(write),
            kind="write",
            tag=tag,
            expected=expected,
            retention=retention,
        )

    def _observed(self, address: Address, call: Callable[[], Any], **known: Any) -> Operation:
        """Calls, again where the database is away; one caller in ten gives up instead."""
        tries = 1 if self.random.random() < 0.1 else TRIES
        before, start = self.connections, time.time()
        for number in range(1, tries + 1):
            try:
                answer = call()
            except DatabaseUnavailable:
                continue
            sendings = max(1 + self.connections - before, number)
            self._remember(address, answer)
            return Operation(start=start, end=time.time(), answer=answer, sendings=sendings, **known)
        sendings = max(1 + self.connections - before, tries)
        return Operation(start=start, end=time.time(), answer=None, sendings=sendings, answered=False, **known)

    def _remember(self, address: Address, answer: object) -> None:
        match answer:
            case Item(version=version) | Written(version=version) | Conflicted(current_version=version):
                self.seen[address] = version


def run_workload(
    url: str, make_store: MakeStore, *, writers: int, operations: int, addresses: list[Address], seed: int
) -> Histories:
    """`operations` by `writers` at once, with a sweep of expired rows beside them."""
    made = [
        Writer(url, str(number + 1), make_store, addresses, random.Random(seed + number)) for number in range(writers)
    ]
    with _sweeping(url), ThreadPoolExecutor(writers) as pool:
        parts = [*pool.map(lambda writer: writer.work(operations // writers), made)]
    return {address: [op for part in parts for op in part.get(address, [])] for address in addresses}


@contextmanager
def cutting(url: str, every_seconds: float, seed: int) -> Iterator[list[int]]:
    """Ends a random connection of a writer again and again; the list gets one number per cut."""
    cuts: list[int] = []
    chance, done = random.Random(seed), threading.Event()

    def cut() -> None:
        with psycopg.connect(url, autocommit=True, application_name="cutter") as connection:
            while not done.wait(every_seconds):
                rows = connection.execute(
                    "SELECT pid FROM pg_stat_activity "
                    "WHERE application_name = 'meridian' AND datname = current_database() ORDER BY pid"
                ).fetchall()
                if rows:
                    pid = chance.choice(rows)[0]
                    connection.execute("SELECT pg_terminate_backend(%s)", [pid])
                    cuts.append(pid)

    thread = threading.Thread(target=cut)
    thread.start()
    try:
        yield cuts
    finally:
        done.set()
        thread.join()


@contextmanager
def _sweeping(url: str) -> Iterator[None]:
    done = threading.Event()

    def sweep() -> None:
        store = MemoryStore(PostgresDatabase(url, lambda: connect_to(url, application_name="sweep")))
        while not done.wait(0.01):
            store.delete_expired(100)
        store.database.close()

    thread = threading.Thread(target=sweep)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()
