"""Migrations of a database that functions go on writing to."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
import pytest

from meridian.database import Database, open_database
from meridian.database.postgres import PostgresDatabase
from meridian.deployment.migration import MigrationError, migrate
from meridian.errors import ConfigurationError, DatabaseError
from meridian.runs.schema import BATCH, RUN_SCHEMA

INDEX = "runs_event_type_volume"
INSERT = (
    "INSERT INTO runs (id, service, workflow_name, event, created_at, event_type) "
    "SELECT 'e{first}-' || n, 's', 'w', '{{}}', '2026-11-30', 't' FROM generate_series(1, {rows}) n"
)


@pytest.fixture
def database(postgres_url: str) -> Iterator[Database]:
    """A database that is up to date but for one index of its table of runs."""
    database = open_database(postgres_url)
    migrate(database, (RUN_SCHEMA,), lambda: 60.0)
    database.execute(INSERT.format(first=0, rows=1_000))
    database.execute(f"DROP INDEX {INDEX}")
    yield database
    database.close()


@contextmanager
def unfinished_write(url: str) -> Iterator[None]:
    """A transaction that has written to `runs` and is not committed before the end of the block."""
    with psycopg.connect(url) as connection:
        connection.execute(INSERT.format(first="open", rows=1))
        yield
        connection.commit()


def is_valid(database: Database, index: str = INDEX) -> bool:
    rows = database.execute(
        "SELECT x.indisvalid FROM pg_index x JOIN pg_class i ON i.oid = x.indexrelid WHERE i.relname = :name",
        {"name": index},
    )
    return [*rows] == [(True,)]


def test_empty_database_is_brought_up_to_date_once(postgres_url: str) -> None:
    database = open_database(postgres_url)
    assert migrate(database, (RUN_SCHEMA,), lambda: 60.0) == []
    assert is_valid(database)
    assert migrate(database, (RUN_SCHEMA,), lambda: 60.0) == []
    database.close()


def test_index_on_a_table_in_use_is_built_while_others_write(database: Database, postgres_url: str) -> None:
    """A plain CREATE INDEX would wait for the open transaction, and every later writer for the index."""
    built: list[list[str]] = []
    other = open_database(postgres_url)
    with unfinished_write(postgres_url):
        migration = threading.Thread(target=lambda: built.append(migrate(other, (RUN_SCHEMA,), lambda: 60.0)))
        migration.start()
        migration.join(0.5)
        assert migration.is_alive()
        with psycopg.connect(postgres_url, autocommit=True, options="-c lock_timeout=1000") as writer:
            writer.execute(INSERT.format(first="meanwhile", rows=10))
    migration.join(20)
    assert built == [[INDEX]]
    assert is_valid(database)
    other.close()


def test_broken_index_of_an_interrupted_migration_is_built_anew(database: Database) -> None:
    with pytest.raises(DatabaseError):
        database.execute(f"CREATE UNIQUE INDEX CONCURRENTLY {INDEX} ON runs (service)")
    assert not is_valid(database)
    assert migrate(database, (RUN_SCHEMA,), lambda: 60.0) == [INDEX]
    assert is_valid(database)
    assert database.execute(f"SELECT indexdef LIKE '%UNIQUE%' FROM pg_indexes WHERE indexname = '{INDEX}'") == [
        (False,)
    ]


def test_migration_that_runs_out_of_time_says_so_and_the_next_one_waits_for_its_index(
    database: Database, postgres_url: str
) -> None:
    other = open_database(postgres_url)
    with unfinished_write(postgres_url):
        with pytest.raises(MigrationError, match=f"{INDEX} is still being built"):
            migrate(other, (RUN_SCHEMA,), lambda: 0.5)
        with pytest.raises(MigrationError, match=f"{INDEX} is still being built"):
            migrate(database, (RUN_SCHEMA,), lambda: 0.5)
    assert migrate(database, (RUN_SCHEMA,), lambda: 60.0) in ([INDEX], [])
    assert is_valid(database)
    other.close()


def test_refusal_of_postgresql_is_told_without_values(database: Database, postgres_url: str) -> None:
    database.execute("CREATE ROLE reader LOGIN")
    database.execute("GRANT SELECT ON ALL TABLES IN SCHEMA public TO reader")
    reader = open_database(postgres_url.replace("meridian@", "reader@"))
    with pytest.raises(MigrationError, match=rf"{INDEX} could not be built: .*\(InsufficientPrivilege\)"):
        migrate(reader, (RUN_SCHEMA,), lambda: 60.0)
    reader.close()
    database.execute("DROP OWNED BY reader")
    database.execute("DROP ROLE reader")


OF_EARLIER = (
    "INSERT INTO runs (id, service, workflow_name, event, created_at, subjects) "
    "SELECT '{first}-' || n, 's', 'w', '{{}}', '2026-11-30', '{{\"patient\": \"p-' || n || '\"}}' "
    "FROM generate_series(1, {rows}) n"
)


@pytest.fixture
def earlier(database: Database) -> Database:
    """The same with runs of a release that kept no rows of their subjects."""
    database.execute("DROP TRIGGER runs_subjects_indexed ON runs")
    database.execute("DROP TABLE run_subjects")
    database.execute(OF_EARLIER.format(first="earlier", rows=BATCH + 1))
    return database


def indexed_subjects(database: Database) -> int:
    return int(database.execute("SELECT count(*) FROM run_subjects")[0][0])


def test_subjects_of_earlier_runs_are_indexed_while_others_write(earlier: Database, postgres_url: str) -> None:
    """All but those that are written meanwhile are there before the lock that writers wait for."""
    seen: list[int] = []

    class Watched(PostgresDatabase):
        def transaction(self) -> Any:
            with psycopg.connect(postgres_url, autocommit=True) as writer:
                writer.execute(OF_EARLIER.format(first="meanwhile", rows=10))
            seen.append(indexed_subjects(earlier))
            return super().transaction()

    watched = Watched(postgres_url)
    migrate(watched, (RUN_SCHEMA,), lambda: 60.0)
    assert seen == [BATCH + 1]
    assert indexed_subjects(earlier) == BATCH + 11
    earlier.execute(OF_EARLIER.format(first="later", rows=1))
    assert indexed_subjects(earlier) == BATCH + 12
    watched.close()


def test_indexing_subjects_that_runs_out_of_time_says_so_and_goes_on_at_the_next_deployment(earlier: Database) -> None:
    seconds = iter([1.0, 0.0])
    with pytest.raises(ConfigurationError, match="still being indexed"):
        migrate(earlier, (RUN_SCHEMA,), lambda: next(seconds))
    assert 0 < indexed_subjects(earlier) < BATCH + 1
    migrate(earlier, (RUN_SCHEMA,), lambda: 60.0)
    assert indexed_subjects(earlier) == BATCH + 1
