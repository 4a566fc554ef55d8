"""Listing the 50 newest runs of a workflow: the store against bare SQL, and a large index against a small one."""

from __future__ import annotations

import time
from collections.abc import Callable
from statistics import median

import psycopg

from meridian.runs.model import RUN_COLUMNS, RunFilter
from meridian.runs.store import open_run_store
from tests.benchmarks.rows import Row, row

LARGE, SMALL = 1_000_000, 10_000
PAGE = 50
ROUNDS = 400

FILL = """
INSERT INTO runs (id, service, workflow_name, event, created_at, updated_at, final_status, workflow_file,
  workflow_slug, spec_version, spec_hash, subjects, source_event_id, route_match, event_type, restate_url,
  journal_format)
SELECT 'event-' || n || ':' || slug, 'meridianWorkflow', slug, '{{}}', at, at,
  CASE WHEN n % 100 = 0 THEN NULL WHEN n % 20 = 0 THEN 'failed' ELSE 'completed' END, slug || '.json',
  slug, 1, repeat('a', 64), '{{"patient": "p-' || n % 5000 || '"}}', 'event-' || n, 'selector', 'type-' || n % 7,
  'http://127.0.0.1:8080', 1
FROM (
  SELECT n, CASE WHEN n % 10 < 6 THEN 'common' ELSE 'workflow-' || n % 40 END AS slug,
    to_char(timestamp '2026-01-01' + n * interval '20 seconds', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS at
  FROM generate_series({first}, {last}) AS n
) AS numbered
"""
# The same page as the store's, as one would write it by hand.
BARE = f"""
SELECT {RUN_COLUMNS} FROM runs WHERE workflow_slug = %(workflow)s ORDER BY created_at DESC, id DESC LIMIT %(limit)s
"""


def run(database_url: str) -> list[Row]:
    """Seconds of a list. Both sides of a ratio are taken in turn, so that what else the machine does meets both."""
    small_url = f"{database_url}?options=-c%20search_path%3Dsmall"
    with psycopg.connect(database_url, autocommit=True, prepare_threshold=None) as connection:
        connection.execute("CREATE SCHEMA small")
        large, small = open_run_store(database_url), open_run_store(small_url)
        connection.execute("ALTER TABLE runs DISABLE TRIGGER runs_subjects_indexed")  # a minute less to wait
        connection.execute(FILL.format(first=1, last=LARGE).encode())
        connection.execute("ALTER TABLE runs ENABLE TRIGGER runs_subjects_indexed")
        connection.execute(FILL.replace("INTO runs", "INTO small.runs").format(first=1, last=SMALL).encode())
        connection.execute("VACUUM ANALYZE runs, small.runs")
        parameters = {"workflow": "common", "limit": PAGE}
        chosen = RunFilter(workflow="common")
        ours, bare = _in_turn(
            [
                lambda: large.find(chosen, None, PAGE),
                lambda: connection.execute(BARE.encode(), parameters).fetchall(),
            ]
        )
        of_large, of_small = _in_turn([lambda: large.find(chosen, None, PAGE), lambda: small.find(chosen, None, PAGE)])
    large.close()
    small.close()
    return [
        row("list 50 newest of one workflow in 1,000,000 rows, against bare SQL", ours, bare, 1.3),
        row("list 50 newest of one workflow, in 1,000,000 rows against 10,000", of_large, of_small, 1.5),
    ]


def _in_turn(works: list[Callable[[], object]]) -> list[float]:
    """The median seconds of each work, the works taken in turn."""
    times: list[list[float]] = [[] for _ in works]
    for _ in range(ROUNDS):
        for work, taken in zip(works, times, strict=True):
            began = time.perf_counter()
            work()
            taken.append(time.perf_counter() - began)
    return [median(taken) for taken in times]
