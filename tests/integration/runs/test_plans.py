"""How the queries of the run index are answered: off an index, in order, however many runs there are.

The planner is shown a large table and asked for its plan. A list of each shape must find its page through an
index, read little more than the page, and sort no more than that.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from meridian.database import ensure_schema
from meridian.definitions.sql_store import DEFINITION_SCHEMA
from meridian.ingestion.routing import RECEIVING_OF_TYPE, ROWS_OF_EVENT
from meridian.runs import queries
from meridian.runs.model import Position, RunFilter
from meridian.runs.queries import Query
from meridian.runs.store import SqlRunStore
from tests.integration.runs.population import (
    COMMON,
    COMMON_TYPE,
    ENTRY,
    PATIENT,
    RARE,
    RARE_TYPE,
    RESTATE_URL,
    RETIRED,
    SECOND,
    WARD,
    in_the_shared_instant,
    populate,
)

ROWS = 1_000_000
LIMIT = 50
PERIOD: dict[str, Any] = {"created_from": "2026-09-10T00:00:00.000Z", "created_to": "2026-11-20T00:00:00.000Z"}

# One index holds the page: it alone is read, and one row more for each of a join's two tables.
ONE_INDEX = {
    "all": RunFilter(),
    "common workflow": RunFilter(workflow=COMMON),
    "rare workflow": RunFilter(workflow=RARE),
    "retired workflow": RunFilter(workflow=RETIRED),
    "unknown workflow": RunFilter(workflow="unknown"),
    "file of a common workflow": RunFilter(workflow=f"{COMMON}.json"),
    "file of a rare workflow": RunFilter(workflow=f"{RARE}.json"),
    "unknown file": RunFilter(workflow="unknown.yaml"),
    "trigger": RunFilter(trigger=ENTRY),
    "event": RunFilter(event="event-500700"),
    "unknown event": RunFilter(event="unknown"),
    "common event type": RunFilter(event_type=COMMON_TYPE),
    "rare event type": RunFilter(event_type=RARE_TYPE),
    "live": RunFilter(status="live"),
    "completed": RunFilter(status="completed"),
    "failed": RunFilter(status="failed"),
    "subject of few runs": RunFilter(subject=PATIENT),
    "subject of many runs": RunFilter(subject=WARD),
    "unknown subject": RunFilter(subject=("patient", "unknown")),
    "period": RunFilter(**PERIOD),
    "since": RunFilter(created_from=PERIOD["created_from"]),
    "until": RunFilter(created_to=PERIOD["created_to"]),
    "live of a common workflow": RunFilter(workflow=COMMON, status="live"),
    "failed of a common workflow": RunFilter(workflow=COMMON, status="failed"),
    "failed of a rare workflow": RunFilter(workflow=RARE, status="failed"),
    "live of a retired workflow": RunFilter(workflow=RETIRED, status="live"),
    "failed of a common workflow's file": RunFilter(workflow=f"{COMMON}.json", status="failed"),
    "trigger of a workflow": RunFilter(workflow=COMMON, trigger=ENTRY),
    "trigger of another workflow": RunFilter(workflow=SECOND, trigger=ENTRY),
    "event type of a workflow": RunFilter(workflow=COMMON, event_type=COMMON_TYPE),
    "event type of another workflow": RunFilter(workflow=SECOND, event_type=COMMON_TYPE),
    "event type of a retired workflow": RunFilter(workflow=RETIRED, event_type=f"{RETIRED}.created"),
    "event and workflow": RunFilter(event="event-500700", workflow=COMMON),
    "period of a workflow": RunFilter(workflow=COMMON, **PERIOD),
    "retired workflow since it retired": RunFilter(workflow=RETIRED, created_from="2026-11-01T00:00:00.000Z"),
    "failed of a workflow in a period": RunFilter(workflow=COMMON, status="failed", **PERIOD),
    "period of an event type": RunFilter(event_type=COMMON_TYPE, **PERIOD),
    "failed in a period": RunFilter(status="failed", **PERIOD),
    "period of a subject": RunFilter(subject=WARD, **PERIOD),
    "workflow of a subject": RunFilter(subject=WARD, workflow=COMMON),
    "event of a subject": RunFilter(subject=WARD, event="event-500700"),
}
# The first filter's index is walked in order and the others pass over rows: as many as they are rare.
FILTERED = {
    "failed of a subject": (RunFilter(subject=WARD, status="failed"), 5_000),
    "live of a subject": (RunFilter(subject=WARD, status="live"), 20_000),
    "failed of an event type": (RunFilter(event_type=COMMON_TYPE, status="failed"), 2_000),
    "failed of a trigger": (RunFilter(trigger=ENTRY, status="failed"), 2_000),
    "everything of a workflow": (
        RunFilter(workflow=COMMON, trigger=ENTRY, event_type=COMMON_TYPE, status="failed", **PERIOD),
        2_000,
    ),
    "everything": (
        RunFilter(workflow=COMMON, trigger=ENTRY, event_type=COMMON_TYPE, status="failed", subject=WARD, **PERIOD),
        50_000,
    ),
}
SHAPES = {name: (chosen, 3 * LIMIT) for name, chosen in ONE_INDEX.items()} | FILTERED


@dataclass(frozen=True)
class Plan:
    """What PostgreSQL did for a query."""

    nodes: list[dict[str, Any]]

    @property
    def scanned_tables(self) -> list[str]:
        """The tables that were read from one end to the other."""
        return [node["Relation Name"] for node in self.nodes if node["Node Type"] == "Seq Scan"]

    @property
    def rows_read(self) -> int:
        """Rows that were taken from tables and indexes, kept or passed over."""
        return sum(
            int(
                (
                    node["Actual Rows"]
                    + sum(node.get(f"Rows Removed by {why}", 0) for why in ("Filter", "Index Recheck"))
                )
                * node["Actual Loops"]
            )
            for node in self.nodes
            if "Scan" in node["Node Type"]
        )

    @property
    def rows_sorted(self) -> int:
        """Rows that went into the largest sort."""
        sorts = [node for node in self.nodes if "Sort" in node["Node Type"]]
        return max(
            (int(sum(below["Actual Rows"] * below["Actual Loops"] for below in node["Plans"])) for node in sorts),
            default=0,
        )


def _nodes(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield plan
    for below in plan.get("Plans", ()):
        yield from _nodes(below)


def plan_of(store: SqlRunStore, query: Query) -> Plan:
    sql, parameters = query
    rows = store.database.execute(f"EXPLAIN (ANALYZE, FORMAT JSON) {sql}", parameters)
    return Plan(list(_nodes(rows[0][0][0]["Plan"])))


def kept_plan_of(store: SqlRunStore, sql: str, *values: str) -> Plan:
    """The plan that a function of PostgreSQL keeps for a statement with `$1`, `$2`, whatever the values are."""
    types = ", ".join(["text"] * len(values))
    given = ", ".join(f"'{value}'" for value in values)
    store.database.execute("SET plan_cache_mode = force_generic_plan")
    store.database.execute(f"PREPARE kept ({types}) AS {sql}")
    try:
        return plan_of(store, (f"EXECUTE kept ({given})", {}))
    finally:
        store.database.execute("DEALLOCATE kept; RESET plan_cache_mode")


@pytest.fixture(scope="module")
def million(module_postgres_url: str) -> Iterator[SqlRunStore]:
    """An index of a million runs on PostgreSQL."""
    store = populate(module_postgres_url, ROWS)
    yield store
    store.close()


@pytest.fixture(scope="module")
def shared_instant(million: SqlRunStore) -> Position:
    return in_the_shared_instant(million)


pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]


@pytest.mark.parametrize("is_first_page", [True, False], ids=["first page", "behind a cursor"])
@pytest.mark.parametrize(("chosen", "most_rows"), SHAPES.values(), ids=SHAPES)
def test_a_list_reads_its_page_off_an_index(
    million: SqlRunStore, shared_instant: Position, chosen: RunFilter, most_rows: int, is_first_page: bool
) -> None:
    after = None if is_first_page else shared_instant

    plan = plan_of(million, queries.list_runs(chosen, after, LIMIT))

    assert plan.scanned_tables == []
    assert plan.rows_sorted <= 2 * LIMIT
    assert plan.rows_read <= most_rows


@pytest.mark.parametrize("own", [True, False], ids=["own", "others"])
@pytest.mark.parametrize("newest_first", [True, False], ids=["newest first", "oldest first"])
@pytest.mark.parametrize("is_first_page", [True, False], ids=["first page", "behind a cursor"])
def test_a_settlement_pass_reads_its_page_of_live_rows_off_an_index(
    million: SqlRunStore, shared_instant: Position, own: bool, newest_first: bool, is_first_page: bool
) -> None:
    plan = plan_of(
        million,
        queries.live_runs(
            RESTATE_URL if own else "https://another.example",
            own=own,
            after=None if is_first_page else shared_instant,
            newest_first=newest_first,
            limit=100,
        ),
    )

    assert plan.scanned_tables == []
    assert plan.rows_sorted == 0
    assert plan.rows_read == 100


def test_the_oldest_live_run_is_one_entry_of_an_index(million: SqlRunStore) -> None:
    plan = plan_of(million, (queries.OLDEST_LIVE, {}))
    assert plan.scanned_tables == []
    assert plan.rows_read == 1


def test_the_rows_of_other_restates_are_passed_over_in_the_order_of_the_live_rows(million: SqlRunStore) -> None:
    plan = plan_of(million, queries.live_runs(RESTATE_URL, own=False, after=None, newest_first=False, limit=100))
    assert plan.scanned_tables == []
    assert plan.rows_read <= ROWS // 100


@pytest.mark.parametrize("workflows", [0, 1, 20, 200])
@pytest.mark.parametrize("event_id", ["event-500700", "unknown"])
def test_the_rows_of_an_event_are_looked_up(million: SqlRunStore, event_id: str, workflows: int) -> None:
    run_ids = [f"{event_id}:{COMMON}", *(f"{event_id}:workflow-{number}" for number in range(workflows))]

    plan = plan_of(million, queries.event_rows(event_id, run_ids))

    assert plan.scanned_tables == []
    assert plan.rows_read <= 4
    assert plan.rows_sorted <= 4


PUBLISH_MANY = """
WITH numbers AS (SELECT generate_series(1, :count::int) AS number), definitions AS (
  INSERT INTO workflow_definitions SELECT 'many-' || number, 1, 1 FROM numbers)
INSERT INTO workflow_versions
SELECT 'many-' || number, 1, 'Many', '{"name":"Many","entries":[],"start":"a","nodes":[]}', 'hash', '["many"]', '2026'
FROM numbers
"""


@pytest.mark.parametrize("has_statistics", [True, False], ids=["with statistics", "without statistics"])
@pytest.mark.parametrize("event_id", ["event-500700", "unknown"])
@pytest.mark.parametrize("workflows", [0, 1, 20, 200])
def test_what_routes_an_event_and_its_rows_are_looked_up_by_plans_that_are_kept(
    million: SqlRunStore, workflows: int, event_id: str, has_statistics: bool
) -> None:
    ensure_schema(million.database, DEFINITION_SCHEMA)
    million.database.execute("TRUNCATE workflow_definitions, workflow_versions")
    million.database.execute(PUBLISH_MANY, {"count": workflows})
    if has_statistics:
        million.database.execute("ANALYZE workflow_definitions, workflow_versions")

    receiving = kept_plan_of(million, RECEIVING_OF_TYPE, event_id, "many")
    rows = kept_plan_of(million, ROWS_OF_EVENT, event_id, "many")

    assert receiving.rows_read <= 2 * workflows + 2  # the versions and their workflows
    assert receiving.rows_sorted <= workflows
    assert "runs" not in rows.scanned_tables
    assert rows.rows_read <= 3 * workflows + 6  # those, the list of both, and what is known
    assert rows.rows_sorted <= workflows


@pytest.mark.parametrize(
    ("sql", "parameters"),
    [
        (queries.GET_RUN, {"id": f"event-500701:{COMMON}"}),
        (queries.SET_FINAL_STATUS, {"id": "unknown", "status": "failed", "updated_at": "2026-11-30"}),
    ],
    ids=["get", "freeze"],
)
def test_one_run_is_looked_up(million: SqlRunStore, sql: str, parameters: dict[str, Any]) -> None:
    plan = plan_of(million, (sql, parameters))
    assert plan.scanned_tables == []
    assert plan.rows_read <= 1


def test_the_volume_reads_its_days_from_an_index_alone(million: SqlRunStore) -> None:
    plan = plan_of(million, (queries.EVENT_VOLUME, {"since": "2026-11-23"}))

    (scan,) = [node for node in plan.nodes if "Scan" in node["Node Type"]]
    assert (scan["Node Type"], scan["Index Name"]) == ("Index Only Scan", "runs_event_type_volume")
    assert plan.rows_read <= ROWS * 7 / 90 + 1


# SQLite has one plan for all values, which it tells without running it.


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SqlRunStore]:
    path: Path = tmp_path_factory.mktemp("plans") / "runs.sqlite"
    store = populate(f"sqlite:{path}", 20_000)
    yield store
    store.close()


def steps_of(store: SqlRunStore, query: Query) -> list[str]:
    sql, parameters = query
    return [row[3] for row in store.database.execute(f"EXPLAIN QUERY PLAN {sql}", parameters)]


SORT = "USE TEMP B-TREE FOR ORDER BY"


@pytest.mark.parametrize("has_statistics", [True, False], ids=["with statistics", "without statistics"])
@pytest.mark.parametrize("is_first_page", [True, False], ids=["first page", "behind a cursor"])
@pytest.mark.parametrize("name", SHAPES)
def test_a_list_on_sqlite_reads_its_page_off_an_index(
    file: SqlRunStore, name: str, is_first_page: bool, has_statistics: bool
) -> None:
    chosen, _ = SHAPES[name]
    file.database.execute("ANALYZE" if has_statistics else "DELETE FROM sqlite_stat1")
    file.close()  # statistics are read when the file is opened
    after = None if is_first_page else Position("2026-10-16T00:00:00.000Z", "event-10500")

    steps = steps_of(file, queries.list_runs(chosen, after, LIMIT))

    assert [step for step in steps if step.startswith("SCAN runs") and "USING INDEX" not in step] == []
    # what is sorted is the runs of one event, or the two pages that make a file's
    is_small = chosen.event is not None or (chosen.workflow or "").endswith((".json", ".yaml"))
    assert (SORT not in steps) or is_small


@pytest.mark.parametrize("own", [True, False], ids=["own", "others"])
def test_a_settlement_pass_on_sqlite_reads_its_page_off_an_index(file: SqlRunStore, own: bool) -> None:
    after = Position("2026-10-16T00:00:00.000Z", "event-10500")
    steps = steps_of(file, queries.live_runs(RESTATE_URL, own=own, after=after, newest_first=False, limit=100))
    (step,) = steps
    assert step.startswith("SEARCH runs USING INDEX")


def test_the_rows_of_an_event_on_sqlite_are_looked_up(file: SqlRunStore) -> None:
    steps = steps_of(file, queries.event_rows("event-1", [f"event-1:{COMMON}", "event-1:other"]))
    reads = [step for step in steps if "runs" in step]
    assert len(reads) == 3
    assert all(step.startswith("SEARCH runs USING INDEX") for step in reads)


def test_the_volume_on_sqlite_reads_an_index_alone(file: SqlRunStore) -> None:
    steps = steps_of(file, (queries.EVENT_VOLUME, {"since": "2026-11-23"}))
    assert "USING COVERING INDEX runs_event_type_volume" in steps[0]
