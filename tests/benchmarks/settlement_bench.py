"""The settlement pass over 10,000 runs that go on: against bare calls to the ingress, and with introspection."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext

from meridian.database import ensure_schema, open_database
from meridian.restate.admin import Admin
from meridian.restate.ingress import Ingress
from meridian.runs.schema import RUN_SCHEMA
from meridian.runs.store import SqlRunStore
from meridian.settlement.deadline import Deadline
from meridian.settlement.lease import Lease
from meridian.settlement.schema import LEASE_SCHEMA
from meridian.settlement.settling import Settlement
from meridian.settlement.sweep import CONCURRENCY, SettlementPass
from tests.benchmarks.rows import Row, row

ROWS = 10_000
ROUNDS = 3
PASS_LIMIT = 1.3  # times the time of as many bare calls
INTROSPECTION_LIMIT = 0.1  # of the time of the pass by ingress calls: ten times the rows a second

INSERT = """
INSERT INTO runs (id, service, workflow_name, event, created_at, updated_at, workflow_slug, restate_url)
SELECT 'bench-' || n || CAST(:suffix AS text), 'meridianWorkflow', 'Waits', '{}', t, t, 'waits', CAST(:url AS text)
FROM (SELECT n, to_char(timestamp '2026-01-01' + n * interval '1 second', 'YYYY-MM-DD"T"HH24:MI:SS".000Z"') AS t
      FROM generate_series(1, CAST(:rows AS integer)) n) AS rows ON CONFLICT DO NOTHING
"""


def run(database_url: str, ingress_url: str, admin_url: str) -> list[Row]:
    """Times in seconds, over an empty database and a Restate whose engine is gone."""
    database = open_database(database_url)
    ensure_schema(database, RUN_SCHEMA, LEASE_SCHEMA)
    ingress, admin = Ingress(ingress_url), Admin(admin_url)
    run_ids = [f"bench-{number}:waits" for number in range(1, ROWS + 1)]
    _start_runs(ingress, run_ids)
    database.execute(INSERT, {"url": ingress.url, "rows": ROWS, "suffix": ":waits"})
    database.execute("ANALYZE runs")

    settlement = Settlement(SqlRunStore(database), ingress, (), lambda *_: None)
    by_calls = SettlementPass(settlement, Lease(open_database(database_url), "by calls"), nullcontext)
    by_query = SettlementPass(settlement, Lease(open_database(database_url), "by query"), nullcontext, admin)

    calls, passes, queries = [], [], []
    for _ in range(ROUNDS):  # one after the other, so that the machine's mood meets all alike
        calls.append(_timed(lambda: _bare_calls(ingress, run_ids)))
        passes.append(_timed(lambda: _pass(by_calls)))
        queries.append(_timed(lambda: _pass(by_query)))
    return [
        row(f"settlement pass over {ROWS:,} live rows, to bare output calls", min(passes), min(calls), PASS_LIMIT),
        row("the same by introspection, to ingress calls", min(queries), min(passes), INTROSPECTION_LIMIT),
    ]


def _start_runs(ingress: Ingress, run_ids: list[str]) -> None:
    """Starts runs on an endpoint that is gone: they are tried twice, paused, and live for good."""
    with ThreadPoolExecutor(CONCURRENCY) as senders:
        for _ in senders.map(lambda run_id: ingress.send_run(run_id, {}), run_ids):
            pass


def _bare_calls(ingress: Ingress, run_ids: list[str]) -> None:
    with ThreadPoolExecutor(CONCURRENCY) as callers:
        states = {answer.state for answer in callers.map(ingress.output, run_ids)}
    assert states == {"live"}, states


def _pass(settlement_pass: SettlementPass) -> None:
    result = settlement_pass.run(Deadline(600))
    assert (result.finished, result["live"]) == (True, ROWS), result


def _timed(work: Callable[[], None]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started
