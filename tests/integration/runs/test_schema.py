"""Bringing a run index up to date: from every earlier shape, by many processes at once, and not at all."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psycopg
import pytest

from meridian.database import AddColumn, Create, Database, ensure_schema, open_database
from meridian.database.postgres import PostgresDatabase, connect_to
from meridian.database.schema import ADVISORY_LOCK_KEY, present_objects
from meridian.errors import ConfigurationError, DatabaseError, DatabaseUnavailable
from meridian.runs.model import RunFilter
from meridian.runs.schema import LISTING, MIGRATIONS, RUN_SCHEMA
from meridian.runs.store import SqlRunStore, open_run_store

# What the very first release's table had, besides `patient` before it had `subjects`.
FIRST_SHAPE = """CREATE TABLE runs (
  id TEXT PRIMARY KEY, service TEXT NOT NULL, workflow_name TEXT NOT NULL, event TEXT NOT NULL,
  created_at TEXT NOT NULL)"""
CREATED_AT = "2026-11-30T08:00:00.000Z"
INSERT = "INSERT INTO runs (id, service, workflow_name, event, created_at) VALUES (:id, 's', 'Old', '{}', :at)"


def catalog(database: Database) -> dict[str, Any]:
    """Columns with type and nullability, index definitions and triggers, whatever the order they were made in."""
    if database.dialect == "sqlite":
        columns = database.execute(
            'SELECT m.name, c.name, c.type, c."notnull", c.pk > 0 '
            "FROM sqlite_master m, pragma_table_info(m.name) c WHERE m.type = 'table'"
        )
        objects = database.execute("SELECT type, name, sql FROM sqlite_master WHERE type <> 'table'")
    else:
        columns = database.execute(
            "SELECT table_name, column_name, upper(data_type), is_nullable, column_default "
            "FROM information_schema.columns WHERE table_schema = 'public'"
        )
        objects = database.execute("SELECT 'index', indexname, indexdef FROM pg_indexes WHERE schemaname = 'public'")
        objects += database.execute(
            "SELECT 'trigger', tgname, pg_get_triggerdef(oid) FROM pg_trigger WHERE NOT tgisinternal"
        )
    return {"columns": sorted(map(str, columns)), "objects": sorted(map(str, objects))}


def columns_and_indexes(database: Database) -> tuple[set[tuple[str, str, str]], set[str]]:
    """What both backends can be compared by: (table, column, type) and the names of the project's indexes."""
    if database.dialect == "sqlite":
        columns = database.execute(
            "SELECT m.name, c.name, c.type FROM sqlite_master m, pragma_table_info(m.name) c WHERE m.type = 'table'"
        )
        indexes = database.execute("SELECT name FROM sqlite_master WHERE type = 'index' AND sql IS NOT NULL")
    else:
        columns = database.execute(
            "SELECT table_name, column_name, upper(data_type) FROM information_schema.columns "
            "WHERE table_schema = 'public'"
        )
        indexes = database.execute(
            "SELECT indexname FROM pg_indexes WHERE schemaname = 'public' AND indexname NOT LIKE '%_pkey'"
        )
    return {(table, column, type_) for table, column, type_ in columns}, {name for (name,) in indexes}


@pytest.mark.parametrize("released", range(1, len(MIGRATIONS) + 1))
def test_an_index_of_each_earlier_release_ends_as_a_fresh_one(new_url: Callable[[], str], released: int) -> None:
    # given a table as the migrations up to one release left it, with a row
    url, fresh = new_url(), new_url()
    database = open_database(url)
    database.execute(FIRST_SHAPE)
    for step in MIGRATIONS[:released]:
        database.execute(step.statement(database.dialect))
    database.execute(INSERT, {"id": "obs-1", "at": CREATED_AT})
    database.execute("UPDATE runs SET subjects = :subjects", {"subjects": '{"patient":"p-42"}'})

    # when it is opened by this release
    store = open_run_store(url)

    # then it has what a fresh one has, and the row
    assert isinstance(store, SqlRunStore)
    open_run_store(fresh).close()
    assert catalog(store.database) == catalog(open_database(fresh))
    detail = store.get("obs-1")
    assert detail is not None
    assert (detail.run.workflow_name, detail.run.created_at) == ("Old", CREATED_AT)
    assert [row.id for row in store.find(RunFilter(subject=("patient", "p-42"), status="live"), None, 5)] == ["obs-1"]
    store.close()
    database.close()


def test_both_databases_have_the_same_columns_and_indexes(postgres_url: str, tmp_path: Path) -> None:
    urls = (postgres_url, f"sqlite:{tmp_path}/runs.sqlite")
    for url in urls:
        open_run_store(url).close()

    postgres, sqlite = (columns_and_indexes(open_database(url)) for url in urls)

    assert postgres == sqlite
    indexes = {step.name for step in (*MIGRATIONS, *LISTING) if isinstance(step, Create)}
    assert indexes < sqlite[1]
    columns = {("runs", step.column, step.type) for step in MIGRATIONS if isinstance(step, AddColumn)}
    assert columns < sqlite[0]


def test_an_index_from_before_the_subjects_column_is_refused_and_left_alone(database_url: str) -> None:
    database = open_database(database_url)
    database.execute(
        FIRST_SHAPE.replace("created_at TEXT NOT NULL)", "created_at TEXT NOT NULL, patient TEXT NOT NULL)")
    )
    before = catalog(database)

    with pytest.raises(ConfigurationError, match=r"before the subjects column.*cannot be migrated") as refusal:
        open_run_store(database_url)

    how = "DROP TABLE runs" if database.dialect == "postgresql" else f"rm {database_url.removeprefix('sqlite:')}"
    assert f"drop it ({how})" in str(refusal.value)
    assert catalog(database) == before
    database.close()


def test_the_subjects_of_earlier_rows_are_indexed_and_what_is_no_object_is_passed_over(database_url: str) -> None:
    # given rows of a release without run_subjects, some of them odd
    database = open_database(database_url)
    database.execute(FIRST_SHAPE)
    database.execute("ALTER TABLE runs ADD COLUMN subjects TEXT")
    odd = ["", "{", "not JSON", "[]", '["patient","p-42"]', '"patient"', "null", "42", "{}", '{"patient":null}']
    odd += ['{"patient":42}', '{"patient":{"id":"p-42"}}', '{"patient":"p-42"', '{"patient":"\\ud800"}']
    good = ['{"patient":"p-42"}', '{"patient": "p-42", "ward": "w%_\'1"}', '{"patient":"é🩸"}']
    for number, subjects in enumerate([*odd, *good]):
        database.execute(INSERT, {"id": f"run-{number}", "at": CREATED_AT})
        database.execute("UPDATE runs SET subjects = :s WHERE id = :id", {"s": subjects, "id": f"run-{number}"})
    database.execute(INSERT, {"id": "none", "at": CREATED_AT})

    # when
    store = open_run_store(database_url)

    # then the good ones are found, and every row is still there
    first = len(odd)
    for subject, numbers in (
        (("patient", "p-42"), [first + 1, first]),
        (("ward", "w%_'1"), [first + 1]),
        (("patient", "é🩸"), [first + 2]),
        (("patient", "42"), []),
        (("0", "patient"), []),
    ):
        found = store.find(RunFilter(subject=subject), None, 50)
        assert [row.id for row in found] == [f"run-{number}" for number in numbers]
    assert len(store.find(RunFilter(), None, 50)) == len(odd) + len(good) + 1
    database.close()
    store.close()


def test_subjects_are_indexed_whoever_inserts_the_row(database_url: str) -> None:
    open_run_store(database_url).close()
    database = open_database(database_url)
    if database.dialect == "postgresql":  # a data-only restore runs without a search path
        database.execute("SET search_path = ''")
    table = "public.runs" if database.dialect == "postgresql" else "runs"
    insert = INSERT.replace("runs (id", f"{table} (subjects, id").replace("VALUES (", "VALUES (:subjects, ")
    for run_id, subjects in (("a", '{"patient":"p-42"}'), ("b", "not JSON"), ("c", None), ("d", '["p-42"]')):
        database.execute(insert, {"id": run_id, "at": CREATED_AT, "subjects": subjects})
    database.close()

    store = open_run_store(database_url)

    assert [row.id for row in store.find(RunFilter(subject=("patient", "p-42")), None, 5)] == ["a"]
    store.close()


def test_what_cannot_be_completed_leaves_nothing_behind(database_url: str) -> None:
    # given a table that is in the way of the last step
    database = open_database(database_url)
    database.execute("CREATE TABLE recent_events (other TEXT)")

    with pytest.raises(DatabaseError):
        open_run_store(database_url)

    assert present_objects(database, ["runs", "run_subjects", "recent_events"]) == {
        "table recent_events",
        "column recent_events.other",
    }
    database.close()


OPEN = """
import sys
from meridian.runs.store import open_run_store
print("ready", flush=True)
sys.stdin.readline()
open_run_store(sys.argv[1]).ping()
"""


@pytest.mark.slow
def test_twenty_processes_may_open_one_empty_database_at_once(database_url: str) -> None:
    layer = Path(open_run_store.__code__.co_filename).parents[2]
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", OPEN, database_url],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={"PYTHONPATH": str(layer)},
        )
        for _ in range(20)
    ]
    for process in processes:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"

    for process in processes:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    errors = [process.communicate(timeout=60)[1] for process in processes]

    assert errors == [""] * 20
    assert [process.returncode for process in processes] == [0] * 20
    open_run_store(database_url).close()


def with_short_patience(url: str) -> PostgresDatabase:
    """A database that gives up on a lock after half a second."""
    return PostgresDatabase(url, connect=lambda: connect_to(url, options="-c lock_timeout=500"))


def test_a_current_database_is_opened_without_the_lock(postgres_url: str) -> None:
    open_run_store(postgres_url).close()
    with psycopg.connect(postgres_url) as another:
        another.execute("SELECT pg_advisory_xact_lock(%s)", (ADVISORY_LOCK_KEY,))
        ensure_schema(with_short_patience(postgres_url), RUN_SCHEMA)


def test_a_database_that_is_not_current_waits_for_the_lock(postgres_url: str) -> None:
    open_run_store(postgres_url).close()
    database = with_short_patience(postgres_url)
    database.execute("DROP INDEX runs_created_at_id")
    with psycopg.connect(postgres_url) as another:
        another.execute("SELECT pg_advisory_xact_lock(%s)", (ADVISORY_LOCK_KEY,))
        with pytest.raises(DatabaseUnavailable):
            ensure_schema(database, RUN_SCHEMA)

    ensure_schema(database, RUN_SCHEMA)
    assert "index runs_created_at_id" in present_objects(database, ["runs"])
    database.close()


def test_a_current_database_is_opened_in_one_statement(postgres_url: str) -> None:
    open_run_store(postgres_url).close()
    sent: list[object] = []

    class Counted(psycopg.Cursor[Any]):
        def execute(self, query: Any, *arguments: Any, **how: Any) -> Any:
            sent.append(query)
            return super().execute(query, *arguments, **how)

    database = PostgresDatabase(postgres_url, connect=lambda: connect_to(postgres_url, cursor_factory=Counted))
    ensure_schema(database, RUN_SCHEMA)

    assert len(sent) == 1
    database.close()


def test_an_index_that_a_broken_build_left_is_made_anew(postgres_url: str) -> None:
    # given an invalid index, as CREATE INDEX CONCURRENTLY leaves it when it fails
    open_run_store(postgres_url).close()
    database = open_database(postgres_url)
    fresh = catalog(database)
    for run_id in ("a", "b"):
        database.execute(INSERT, {"id": run_id, "at": CREATED_AT})
    database.execute("DROP INDEX runs_created_at_id")
    with pytest.raises(DatabaseError, match="UniqueViolation"):
        database.execute("CREATE UNIQUE INDEX CONCURRENTLY runs_created_at_id ON runs (created_at)")
    assert "index runs_created_at_id" not in present_objects(database, ["runs"])

    # when
    open_run_store(postgres_url).close()

    # then
    assert "index runs_created_at_id" in present_objects(database, ["runs"])
    assert catalog(database) == fresh
    database.close()


def test_the_schema_is_that_of_the_connection_whatever_its_name(postgres_url: str) -> None:
    database = open_database(postgres_url)
    database.execute('CREATE SCHEMA "Run Index"')
    database.close()
    url = f"{postgres_url}?options=-c%20search_path%3D%22Run%5C%20Index%22"

    for _ in range(2):
        store = open_run_store(url)
        assert store.find(RunFilter(), None, 1) == []
        store.close()

    assert database.execute("SELECT count(*) FROM pg_tables WHERE schemaname = 'Run Index'") == [(4,)]
    database.close()
