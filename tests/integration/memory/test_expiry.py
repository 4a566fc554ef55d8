"""The schedule's function, on a real PostgreSQL and on SQLite."""

import json
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from meridian.clock import ago
from meridian.database import Database, ensure_schema, open_database
from meridian.ingestion.recent import RecentEvent, RecentEvents
from meridian.memory.store import MemoryStore
from meridian.runs.schema import RUN_SCHEMA
from meridian.sweep import BATCH
from tests.services.functions import ROOT, Context, load_function

TICK = json.loads((ROOT / "events" / "expiry-schedule.json").read_text())

FILL = """
INSERT INTO workflow_memory (subject_kind, subject_id, scope, workflow, key, type, type_name, value, expires_at,
  written_by)
SELECT 'patient', 'sub-zq7-' || n, 'workflow', 'w', 'key-zq7', '{}', 'T', '"val-zq7"',
  now() + CASE WHEN n % 4 = 0 THEN interval '1 day' ELSE n * interval '-1 second' END, '{}'
FROM generate_series(1, :count::int) AS n
"""
COUNT = "SELECT count(*) FILTER (WHERE expires_at > now()), count(*) FROM workflow_memory"


def fill(database: Database, count: int) -> None:
    """`count` items; three in four have expired."""
    database.execute(FILL, {"count": count})


def record(events: RecentEvents, name: str, **age: float) -> None:
    events.record(RecentEvent(name, ago(**age), name, "observation.created", None, "unrouted", [], None))


def metrics(output: str) -> dict[str, Any]:
    """The counts in what the function printed for CloudWatch."""
    documents = [json.loads(line) for line in output.splitlines() if '"_aws"' in line]
    return {name: value for document in documents for name, value in document.items() if "." in name}


def test_what_has_expired_is_removed_and_counted(
    store: MemoryStore, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    fill(store.database, 4 * BATCH)
    ensure_schema(store.database, RUN_SCHEMA)
    events = RecentEvents(store.database)
    record(events, "old", days=8)
    record(events, "just-old", days=7, seconds=1)
    record(events, "young", days=6, hours=23)

    function = load_function("expiry", monkeypatch, RUN_DB_URL=store.database.url)
    answer = function.handler(TICK, Context())

    assert answer == {"memoryExpired": 3 * BATCH, "eventsTrimmed": 2}
    assert store.database.execute(COUNT) == [(BATCH, BATCH)]
    assert [event.id for event in events.page(None, 10)] == ["young"]
    assert metrics(capfd.readouterr().out) == {
        "meridian.memory.expired": [3.0 * BATCH],
        "meridian.events.trimmed": [2.0],
    }
    assert function.handler(TICK, Context()) == {"memoryExpired": 0, "eventsTrimmed": 0}


def test_short_of_time_it_leaves_the_rest_to_the_next(store: MemoryStore, monkeypatch: pytest.MonkeyPatch) -> None:
    fill(store.database, 40)
    function = load_function("expiry", monkeypatch, RUN_DB_URL=store.database.url)
    assert function.handler(TICK, Context(remaining_millis=1_000)) == {"memoryExpired": 0, "eventsTrimmed": 0}
    assert function.handler(TICK, Context()) == {"memoryExpired": 30, "eventsTrimmed": 0}


def test_several_at_once_share_the_work(store: MemoryStore) -> None:
    fill(store.database, 4_000)

    def sweep_all(_: int) -> list[int]:
        mine = MemoryStore(open_database(store.database.url))
        batches: list[int] = []
        while not batches or batches[-1] > 0:
            batches.append(mine.delete_expired(50))
        mine.database.close()
        return batches

    with ThreadPoolExecutor(6) as pool:
        removed = [sum(batches) for batches in pool.map(sweep_all, range(6))]
    removed.append(store.delete_expired(4_000))  # what one left because another held it
    assert sum(removed) == 3_000
    assert store.database.execute(COUNT) == [(1_000, 1_000)]


def test_an_item_that_is_written_again_meanwhile_stays(store: MemoryStore) -> None:
    fill(store.database, 3)
    writer = open_database(store.database.url)
    with writer.transaction():
        writer.execute(
            "UPDATE workflow_memory SET expires_at = now() + interval '1 day' WHERE subject_id = 'sub-zq7-1'"
        )
        assert store.delete_expired(10) == 2  # it waits for nobody
    assert store.delete_expired(10) == 0
    assert store.database.execute(COUNT) == [(1, 1)]
    writer.close()


def test_a_batch_is_found_by_the_deadline_and_removed_by_place(store: MemoryStore) -> None:
    from meridian.memory.queries import DELETE_EXPIRED

    fill(store.database, 50_000)
    store.database.execute("ANALYZE workflow_memory")
    plan = "\n".join(row[0] for row in store.database.execute(f"EXPLAIN {DELETE_EXPIRED}", {"limit": BATCH}))
    assert "Index Scan using workflow_memory_expires_at" in plan
    assert "Tid Scan" in plan
    assert "Seq Scan" not in plan


def test_recent_events_are_trimmed_by_several_at_once(postgres_url: str) -> None:
    database = open_database(postgres_url)
    ensure_schema(database, RUN_SCHEMA)
    events = RecentEvents(database)
    for number in range(200):
        record(events, f"old-{number}", days=8)
    barrier = threading.Barrier(4)

    def trim(_: int) -> int:
        mine = RecentEvents(open_database(postgres_url))
        barrier.wait()
        return sum(mine.trim(10) for _ in range(20))

    with ThreadPoolExecutor(4) as pool:
        assert sum(pool.map(trim, range(4))) + events.trim(200) == 200
    assert events.page(None, 1) == []


def test_with_a_sqlite_run_index_alone_there_is_no_memory_to_expire(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = f"sqlite:{tmp_path}/runs.sqlite"
    database = open_database(url)
    ensure_schema(database, RUN_SCHEMA)
    events = RecentEvents(database)
    record(events, "old", days=8)
    record(events, "young", days=1)
    database.close()

    function = load_function("expiry", monkeypatch, RUN_DB_URL=url)

    assert function.handler(TICK, Context()) == {"memoryExpired": 0, "eventsTrimmed": 1}
    assert [event.id for event in events.page(None, 10)] == ["young"]
