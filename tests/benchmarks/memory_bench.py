"""Workflow memory: an operation of the service against a bare statement, and a writer beside a sweep.

The bare statement is the shortest that does the same for one caller: it knows neither turns nor retries.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from statistics import median
from typing import Any

import psycopg

from meridian.database import open_database
from meridian.database.postgres import PostgresDatabase, connect_to
from meridian.memory.model import Address, Write, Written, WrittenBy
from meridian.memory.store import MemoryStore, open_memory_store
from meridian.sweep import sweep
from tests.benchmarks.rows import Row, row

OPERATIONS, WARM_UP = 1_500, 200
EXPIRED = 100_000

VALUE = json.dumps(
    {"code": "K", "level": 6.1, "unit": "mmol/L", "history": [{"at": "2026-11-30T20:09:00Z", "level": 5.2}] * 10}
)
TYPE = '{"kind": "Observation"}'
WRITTEN_BY = '{"workflow": "potassium-alert", "run": "e-1:potassium-alert", "node": "remember"}'

AT = " AND ".join(f"{field} = %({field})s" for field in Address._fields)
READ = f"""
SELECT type, type_name, value, version, written_at, expires_at, written_by FROM workflow_memory
WHERE {AT} AND expires_at > now()
"""
WRITE = """
INSERT INTO workflow_memory (subject_kind, subject_id, scope, workflow, key, type, type_name, value, expires_at,
  written_by)
VALUES (%(subject_kind)s, %(subject_id)s, %(scope)s, %(workflow)s, %(key)s, %(type)s, %(type_name)s, %(value)s,
  now() + interval '30 days', %(written_by)s)
ON CONFLICT (subject_kind, subject_id, scope, workflow, key) DO UPDATE SET type = EXCLUDED.type,
  type_name = EXCLUDED.type_name, value = EXCLUDED.value, version = EXCLUDED.version,
  written_at = EXCLUDED.written_at, expires_at = EXCLUDED.expires_at, written_by = EXCLUDED.written_by
RETURNING version, expires_at
"""
WRITE_IF_VERSION = f"""
UPDATE workflow_memory SET type = %(type)s, type_name = %(type_name)s, value = %(value)s,
  version = nextval('workflow_memory_version_seq'), written_at = now(), expires_at = now() + interval '30 days',
  written_by = %(written_by)s
WHERE {AT} AND version = %(expected)s AND expires_at > now()
RETURNING version, expires_at
"""
FILL = """
INSERT INTO workflow_memory (subject_kind, subject_id, scope, workflow, key, type, type_name, value, expires_at,
  written_by)
SELECT 'patient', 'p-' || n, 'workflow', 'w', 'k', '{}', 'T', repeat('x', 200),
  now() + CASE WHEN n <= %s THEN interval '-1 day' ELSE interval '1 day' END, '{}'
FROM generate_series(1, %s) AS n
"""


def run(database_url: str) -> list[Row]:
    """Seconds per operation, by median."""
    with connect_to(database_url) as connection:
        store = open_memory_store(PostgresDatabase(database_url, lambda: connection))
        connection.execute(FILL, [0, EXPIRED])  # a table of a size
        connection.execute("ANALYZE workflow_memory")
        rows = [
            _compared("memory read", *_reads(store, connection)),
            _compared("memory write", *_writes(store, connection)),
            _compared("memory conditional write", *_conditional_writes(store, connection)),
        ]
        connection.execute("DELETE FROM workflow_memory")
        rows.append(_beside_a_sweep(store, connection, database_url))
    return rows


Operation = Callable[[int], object]


def _compared(name: str, service: Operation, bare: Operation) -> Row:
    """Both in turn and on one connection, so that they meet the same machine and the same server process."""
    ours: list[float] = []
    theirs: list[float] = []
    for number in range(WARM_UP + OPERATIONS):
        for operation, times in ((service, ours), (bare, theirs)):
            began = time.perf_counter()
            operation(number)
            times.append(time.perf_counter() - began)
    limit = 1.3
    return row(
        f"{name}: service call against the bare statement", median(ours[WARM_UP:]), median(theirs[WARM_UP:]), limit
    )


def _reads(store: MemoryStore, connection: psycopg.Connection[Any]) -> tuple[Operation, Operation]:
    address = _address("read")
    store.write(_a_write("read", 0))
    return (
        lambda _: store.read(address),
        lambda _: connection.execute(READ, address._asdict()).fetchall(),
    )


def _writes(store: MemoryStore, connection: psycopg.Connection[Any]) -> tuple[Operation, Operation]:
    return (
        lambda number: store.write(_a_write("service", number)),
        lambda _: connection.execute(WRITE, _content("bare")).fetchall(),
    )


def _conditional_writes(store: MemoryStore, connection: psycopg.Connection[Any]) -> tuple[Operation, Operation]:
    """Each write expects the version of the one before it."""
    first = connection.execute(WRITE, _content("bare")).fetchall()
    versions = [_written(store, _a_write("service", -1)), first[0][0]]

    def ours(number: int) -> None:
        versions[0] = _written(store, _a_write("service", number, versions[0]))

    def theirs(_: int) -> None:
        content = {**_content("bare"), "expected": versions[1]}
        versions[1] = connection.execute(WRITE_IF_VERSION, content).fetchall()[0][0]

    return ours, theirs


def _address(subject: str) -> Address:
    return Address("patient", subject, "workflow", "potassium-alert", "last-level")


def _a_write(subject: str, number: int, expected_version: int | None = None) -> Write:
    """Of a value that has been checked, as the routes have it when they call the store."""
    visit = WrittenBy("potassium-alert", "e-1:potassium-alert", f"remember.{number}")
    return Write(_address(subject), TYPE, "Observation", VALUE, visit, expected_version)


def _written(store: MemoryStore, write: Write) -> int:
    outcome = store.write(write)
    assert isinstance(outcome, Written)
    return outcome.version


def _content(subject: str) -> dict[str, Any]:
    content = {"type": TYPE, "type_name": "Observation", "value": VALUE, "written_by": WRITTEN_BY}
    return _address(subject)._asdict() | content


def _beside_a_sweep(store: MemoryStore, connection: psycopg.Connection[Any], database_url: str) -> Row:
    """A writer's median while 100,000 expired items are removed, against its median on the same table at rest."""
    connection.execute(FILL, [EXPIRED, 2 * EXPIRED])
    connection.execute("ANALYZE workflow_memory")
    at_rest = [_timed(store, number) for number in range(WARM_UP + OPERATIONS)][WARM_UP:]
    sweeping, removed = open_memory_store(open_database(database_url)), []
    thread = threading.Thread(target=lambda: removed.append(sweep(sweeping.delete_expired, lambda: 300_000)))
    thread.start()
    beside: list[float] = []
    while thread.is_alive():
        beside.append(_timed(store, len(beside)))
    thread.join()
    sweeping.database.close()
    at_rest += [_timed(store, number) for number in range(OPERATIONS, 2 * OPERATIONS)]  # the machine may have changed
    assert removed == [EXPIRED]
    assert len(beside) > 100, "the sweep was over before the writer could be measured"
    return row("a writer while 100,000 expired items are removed", median(beside), median(at_rest), 2.0)


def _timed(store: MemoryStore, number: int) -> float:
    began = time.perf_counter()
    store.write(_a_write(f"w-{number % 50}", number))
    return time.perf_counter() - began
