"""A real PostgreSQL for tests: one server per worker of the test run, a database of its own for whoever asks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from weakref import WeakKeyDictionary

import psycopg
import pytest
from psycopg import sql

from local.ports import free_port
from local.postgres import FAST_AND_FORGETFUL, PostgresServer

_numbers = count(1)
_empty: WeakKeyDictionary[PostgresServer, list[str]] = WeakKeyDictionary()

END_OTHERS = """
SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity
WHERE datname = current_database() AND pid <> pg_backend_pid()
"""
OWN_SCHEMAS = "SELECT nspname FROM pg_namespace WHERE nspname NOT LIKE 'pg\\_%' AND nspname <> 'information_schema'"


@contextmanager
def running_postgres(folder: Path) -> Iterator[PostgresServer]:
    """A server in an empty folder, for a test that stops or kills it."""
    server = PostgresServer(folder / "postgres", folder / "postgres.log", free_port(), FAST_AND_FORGETFUL)
    server.start()
    try:
        yield server
    finally:
        server.stop()


@contextmanager
def fresh_database(server: PostgresServer) -> Iterator[str]:
    """The URL of an empty database. Afterwards it is emptied and kept for the next, since to make one takes longer
    than most tests."""
    empty = _empty.setdefault(server, [])
    name = empty.pop() if empty else _new_database(server)
    yield server.url(name)
    with psycopg.connect(server.url(name), autocommit=True) as connection:
        connection.execute(END_OTHERS)
        connection.execute(f"alter database {name} reset all")
        for (schema,) in connection.execute(OWN_SCHEMAS).fetchall():
            connection.execute(sql.SQL("drop schema {} cascade").format(sql.Identifier(schema)))
        connection.execute("create schema public authorization pg_database_owner")
        connection.execute("grant usage on schema public to public")
    empty.append(name)


def _new_database(server: PostgresServer) -> str:
    name = f"test_{next(_numbers)}"
    with psycopg.connect(server.url(), autocommit=True) as connection:
        connection.execute(f"create database {name} strategy file_copy")
    return name


@pytest.fixture(scope="session")
def postgres_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PostgresServer]:
    """The worker's server. Tests that stop a server start one of their own with `running_postgres`."""
    with running_postgres(tmp_path_factory.mktemp("postgres")) as server:
        yield server


@pytest.fixture
def postgres_url(postgres_server: PostgresServer) -> Iterator[str]:
    """The URL of an empty database of this test's own."""
    with fresh_database(postgres_server) as url:
        yield url


@pytest.fixture(scope="module")
def module_postgres_url(postgres_server: PostgresServer) -> Iterator[str]:
    """The URL of an empty database that the tests of one module share."""
    with fresh_database(postgres_server) as url:
        yield url


@pytest.fixture
def new_postgres_url(postgres_server: PostgresServer) -> Iterator[Callable[[], str]]:
    """Makes empty databases, for a test that needs several; each call gives the URL of a new one."""
    made = []

    def make() -> str:
        database = fresh_database(postgres_server)
        made.append(database)
        return database.__enter__()

    yield make
    for database in made:
        database.__exit__(None, None, None)
