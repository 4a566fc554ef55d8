"""The lease and the live rows, on both backends."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from meridian.database import ensure_schema, open_database
from meridian.runs.model import Position
from meridian.runs.queries import live_runs
from meridian.runs.schema import RUN_SCHEMA
from meridian.runs.store import SqlRunStore
from meridian.settlement.lease import Lease
from meridian.settlement.position import WalkPosition
from meridian.settlement.schema import LEASE_SCHEMA


@pytest.fixture(params=["postgresql", "sqlite"])
def url(request, tmp_path):
    if request.param == "sqlite":
        return f"sqlite:{tmp_path}/index.sqlite"
    return request.getfixturevalue("postgres_url")


@pytest.fixture
def database(url):
    database = open_database(url)
    ensure_schema(database, RUN_SCHEMA, LEASE_SCHEMA)
    yield database
    database.close()


def test_one_holder_at_a_time(url, database):
    first, second = Lease(database, "work"), Lease(open_database(url), "work")

    assert first.take()
    assert not second.take()
    assert first.take()  # renewed
    assert Lease(database, "other work").take()
    first.release()
    assert second.take()
    assert not first.take()


def test_of_many_that_take_it_at_once_one_gets_it(url, database):
    contenders = [Lease(open_database(url), "work") for _ in range(12)]
    ready = threading.Barrier(12)

    def take(lease: Lease) -> bool:
        ready.wait()
        return lease.take()

    with ThreadPoolExecutor(12) as pool:
        assert sum(pool.map(take, contenders)) == 1


def test_it_expires_by_the_clock_of_the_database(url, database):
    dead, next_one = Lease(database, "work", seconds=0.5), Lease(open_database(url), "work")
    assert dead.take()
    assert not next_one.take()

    time.sleep(0.6)

    assert next_one.take()
    assert not dead.take()


def test_an_expired_lease_that_nobody_took_is_renewed(database):
    lease = Lease(database, "work", seconds=0.05)
    assert lease.take()
    time.sleep(0.1)
    assert lease.take()


def test_the_position_is_kept_for_the_next_holder_and_only_the_holder_moves_it(url, database):
    first, second = Lease(database, "work", seconds=0.05), Lease(open_database(url), "work")
    here = WalkPosition(False, Position("2026-11-30T20:09:00.123Z", "é'\"%:alert"))
    assert first.take()
    assert first.position() is None
    first.save_position(here)
    time.sleep(0.1)

    assert second.take()
    assert second.position() == here
    first.save_position(None)  # it has lost the lease
    first.release()
    assert second.position() == here
    assert not Lease(database, "work").take()
    second.save_position(None)
    assert second.position() is None


@pytest.mark.parametrize("text", ["", "{}", "[1,2]", '["x","y","z"]', '[true,1,"id"]', "no json"])
def test_a_position_of_another_release_begins_anew(text):
    assert WalkPosition.parse(text) is None


OWN, OTHER = "http://own:8080", "http://other:8080"


def insert(database: Any, rows: list[tuple[str | None, str | None, str]]) -> None:
    with database.transaction():
        for number, (restate_url, final_status, created_at) in enumerate(rows):
            database.execute(
                "INSERT INTO runs (id, service, workflow_name, event, created_at, restate_url, final_status) "
                "VALUES (:id, 's', 'w', '{}', :created_at, :url, :status)",
                {"id": f"r{number}", "created_at": created_at, "url": restate_url, "status": final_status},
            )


def test_live_rows_of_one_restate_and_of_the_others(database):
    insert(
        database,
        [
            (OWN, None, "2026-01-02"),
            (OWN, None, "2026-01-01"),
            (OWN, "completed", "2026-01-01"),
            (OTHER, None, "2026-01-03"),
            (None, None, "2026-01-01"),
            (OWN, None, "2026-01-02"),
            (None, "failed", "2026-01-01"),
            (None, "cancelled", "2026-01-04"),  # neither literal: it reads as null, so it is live
            (OWN, "banana", "2026-01-05"),  # and so is this one, which the index of its Restate does not hold
        ],
    )
    store = SqlRunStore(database)

    def ids(**page: Any) -> list[str]:
        return [row.id for row in store.live(OWN, limit=10, **page)]

    assert ids() == ["r1", "r0", "r5"]
    assert ids(newest_first=True) == ["r5", "r0", "r1"]
    assert ids(after=Position("2026-01-02", "r0")) == ["r5"]
    assert ids(after=Position("2026-01-02", "r0"), newest_first=True) == ["r1"]
    assert ids(own=False) == ["r4", "r3", "r7", "r8"]
    assert [row.id for row in store.live(OWN, limit=2)] == ["r1", "r0"]


@pytest.fixture(scope="module")
def large_index(module_postgres_url):
    """100,000 runs, a fifth of them live, of several Restates."""
    database = open_database(module_postgres_url)
    ensure_schema(database, RUN_SCHEMA)
    database.execute(
        """INSERT INTO runs (id, service, workflow_name, event, created_at, restate_url, final_status)
        SELECT 'r' || n, 's', 'w', '{}',
          to_char(timestamp '2026-01-01' + n * interval '1 minute', 'YYYY-MM-DD HH24:MI'),
          CASE WHEN n % 50 = 0 THEN NULL WHEN n % 7 = 0 THEN 'http://other:8080' ELSE 'http://own:8080' END,
          CASE WHEN n % 10 < 8 THEN 'completed' END
        FROM generate_series(1, 100000) n"""
    )
    database.execute("ANALYZE runs")
    yield database
    database.close()


@pytest.mark.parametrize("own", [True, False], ids=["own", "others"])
@pytest.mark.parametrize("newest_first", [False, True], ids=["oldest first", "newest first"])
def test_pages_of_live_rows_are_read_off_an_index(large_index, own, newest_first):
    after = Position("2026-02-01 00:00", "r1")
    sql, parameters = live_runs(OWN, own=own, after=after, newest_first=newest_first, limit=100)

    plan = "\n".join(row[0] for row in large_index.execute(f"EXPLAIN (ANALYZE, BUFFERS) {sql}", parameters))

    assert "Seq Scan" not in plan, plan
    assert "Sort" not in plan, plan
    assert ("runs_live_restate_url_created_at" if own else "runs_status_created_at") in plan, plan
