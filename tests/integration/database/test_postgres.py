"""The PostgreSQL connection: replaced when it is dead, never half done, and silent about what was sent."""

import logging
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import psycopg
import pytest

from local.ports import free_port
from meridian.database.postgres import PostgresDatabase, connect_to, postgres_sql
from meridian.errors import DatabaseError, DatabaseUnavailable
from tests.services.postgres import running_postgres

SECRET = "patient-4711"


@pytest.fixture
def database(postgres_url: str) -> Iterator[PostgresDatabase]:
    database = PostgresDatabase(postgres_url)
    database.execute("CREATE TABLE notes (id TEXT PRIMARY KEY, text TEXT)")
    yield database
    database.close()


@pytest.fixture
def terminate(postgres_url: str, database: PostgresDatabase) -> Iterator[Callable[[], None]]:
    """Ends the database's connection from the server's side, as a failover or an administrator does."""
    pid = database.execute("SELECT pg_backend_pid()")[0][0]
    with psycopg.connect(postgres_url, autocommit=True) as administrator:

        def end() -> None:
            administrator.execute("SELECT pg_terminate_backend(%s, 5000)", (pid,))

        yield end


def ids(database: PostgresDatabase) -> list[str]:
    return [row[0] for row in database.execute("SELECT id FROM notes ORDER BY id")]


def insert(database: PostgresDatabase, note_id: str, text: str = "") -> int:
    parameters = {"id": note_id, "text": text}
    return database.count("INSERT INTO notes VALUES (:id, :text) ON CONFLICT DO NOTHING", parameters)


def in_transaction(database: PostgresDatabase, *steps: Callable[[], object]) -> None:
    with database.transaction():
        for step in steps:
            step()


def test_a_connection_that_ended_between_two_statements_is_replaced_within_the_next(
    database: PostgresDatabase, terminate: Callable[[], None]
) -> None:
    before = database.execute("SELECT pg_backend_pid()")
    terminate()

    assert insert(database, "a") == 1

    assert database.execute("SELECT pg_backend_pid()") != before
    assert ids(database) == ["a"]


def test_a_connection_that_ended_before_a_transaction_is_replaced(
    database: PostgresDatabase, terminate: Callable[[], None]
) -> None:
    terminate()
    with database.transaction():
        insert(database, "a")
        insert(database, "b")
    assert ids(database) == ["a", "b"]


def test_a_statement_whose_connection_ended_under_it_is_sent_again(
    database: PostgresDatabase, terminate: Callable[[], None], postgres_url: str
) -> None:
    # given a statement that waits for a row another holds
    insert(database, "a")
    with psycopg.connect(postgres_url) as holder, ThreadPoolExecutor(1) as pool:
        holder.execute("SELECT 1 FROM notes WHERE id = 'a' FOR UPDATE")
        update = pool.submit(database.count, "UPDATE notes SET text = 'seen' WHERE id = 'a'")
        _until_waiting(holder)

        # when its connection is ended, and the row is free
        terminate()
        holder.rollback()

        # then it was done, once
        assert update.result(timeout=10) == 1
    assert database.execute("SELECT text FROM notes") == [("seen",)]


def _until_waiting(connection: "psycopg.Connection[Any]") -> None:
    """Returns when some other connection waits for a lock."""
    for _ in range(200):
        waiting = connection.execute("SELECT count(*) FROM pg_locks WHERE NOT granted").fetchone()
        if waiting is not None and waiting[0]:
            return
        time.sleep(0.02)
    pytest.fail("nobody waits")


def test_a_transaction_whose_connection_ends_is_undone_whole(
    database: PostgresDatabase, terminate: Callable[[], None]
) -> None:
    with pytest.raises(DatabaseUnavailable):
        in_transaction(database, lambda: insert(database, "a"), terminate, lambda: insert(database, "b"))
    assert ids(database) == []


def test_a_transaction_whose_connection_ends_before_its_commit_is_unavailable(
    database: PostgresDatabase, terminate: Callable[[], None]
) -> None:
    with pytest.raises(DatabaseUnavailable):
        in_transaction(database, lambda: insert(database, "a"), terminate)
    assert ids(database) == []


def test_an_error_within_a_transaction_undoes_it(database: PostgresDatabase) -> None:
    with pytest.raises(IndexError):
        in_transaction(database, lambda: insert(database, "a"), [].pop)
    with pytest.raises(DatabaseError):
        in_transaction(database, lambda: insert(database, "b"), lambda: database.execute("SELECT 1/0"))
    assert ids(database) == []
    assert insert(database, "c") == 1


def test_transactions_do_not_nest(database: PostgresDatabase) -> None:
    with database.transaction():
        insert(database, "a")
        with pytest.raises(RuntimeError), database.transaction():
            insert(database, "b")
    assert ids(database) == ["a"]


def test_a_connection_that_became_read_only_is_replaced(database: PostgresDatabase, postgres_url: str) -> None:
    # given a connection to a server that another one took over from
    name = postgres_url.rpartition("/")[2]
    database.execute(f"ALTER DATABASE {name} SET default_transaction_read_only = on")
    database.close()
    with pytest.raises(DatabaseUnavailable):
        insert(database, "a")

    # when a new connection would reach the one that took over
    with psycopg.connect(postgres_url, autocommit=True) as administrator:
        administrator.execute("SET default_transaction_read_only = off")
        administrator.execute(f"ALTER DATABASE {name} RESET default_transaction_read_only")

    # then the same call finds it
    assert insert(database, "a") == 1


def test_a_server_that_is_down_is_unavailable_at_once_and_is_found_when_it_is_back(tmp_path: Path) -> None:
    with running_postgres(tmp_path) as server:
        database = PostgresDatabase(server.url())
        database.execute("CREATE TABLE notes (id TEXT PRIMARY KEY, text TEXT)")

        server.stop()
        began = time.monotonic()
        with pytest.raises(DatabaseUnavailable):
            insert(database, "a")
        with pytest.raises(DatabaseUnavailable), database.transaction():
            insert(database, "a")
        assert time.monotonic() - began < 2

        server.start()
        assert insert(database, "a") == 1
        database.close()


def test_a_killed_server_is_found_again_with_what_was_committed(tmp_path: Path) -> None:
    with running_postgres(tmp_path) as server:
        database = PostgresDatabase(server.url())
        database.execute("CREATE TABLE notes (id TEXT PRIMARY KEY, text TEXT)")
        insert(database, "a")
        database.execute("CHECKPOINT")

        server.kill()
        with pytest.raises(DatabaseUnavailable):
            insert(database, "b")

        server.start()
        assert ids(database) == ["a"]
        database.close()


def test_a_host_that_does_not_answer_is_given_up_within_the_connect_timeout() -> None:
    # given a host that takes connections and says nothing
    import socket

    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        database = PostgresDatabase(
            "", connect=lambda: connect_to(f"postgresql://u@127.0.0.1:{port}/d", connect_timeout=2)
        )
        began = time.monotonic()
        with pytest.raises(DatabaseUnavailable):
            database.execute("SELECT 1")
        assert 1 < time.monotonic() - began < 4


def test_sixteen_threads_share_a_connection(database: PostgresDatabase) -> None:
    def work(number: int) -> list[Any]:
        answers = []
        for turn in range(20):
            insert(database, f"{number:02}-{turn:02}", str(number))
            answers += database.execute("SELECT :number::int * 1000 + :turn::int", {"number": number, "turn": turn})
        return answers

    with ThreadPoolExecutor(16) as pool:
        answers = list(pool.map(work, range(16)))

    assert answers == [[(number * 1000 + turn,) for turn in range(20)] for number in range(16)]
    assert len(ids(database)) == 320


def test_threads_do_not_slip_into_the_transaction_of_another(database: PostgresDatabase) -> None:
    begun = threading.Event()

    def undone() -> None:
        with suppress(KeyError), database.transaction():
            insert(database, "undone")
            begun.set()
            time.sleep(0.2)
            raise KeyError

    with ThreadPoolExecutor(2) as pool:
        pool.submit(undone)
        begun.wait(5)
        assert pool.submit(insert, database, "kept").result(5) == 1
    assert ids(database) == ["kept"]


def test_sixteen_threads_survive_the_end_of_their_connection(
    database: PostgresDatabase, terminate: Callable[[], None]
) -> None:
    def work(number: int) -> None:
        for turn in range(20):
            insert(database, f"{number:02}-{turn:02}")

    with ThreadPoolExecutor(17) as pool:
        workers = [pool.submit(work, number) for number in range(16)]
        pool.submit(terminate)
        for worker in workers:
            worker.result(timeout=20)
    assert len(ids(database)) == 320


def test_no_named_prepared_statement_is_ever_made(database: PostgresDatabase) -> None:
    for turn in range(20):
        insert(database, str(turn))
        database.execute("SELECT text FROM notes WHERE id = :id", {"id": str(turn)})
    with database.transaction():
        insert(database, "in a transaction")
    assert database.execute("SELECT name FROM pg_prepared_statements") == []


@pytest.mark.parametrize(
    "statement",
    [
        "INSERT INTO notes VALUES (:secret, '')",  # taken already
        "SELECT :secret::int",
        "SELECT * FROM missing WHERE id = :secret",
        "SELECT jsonb_path_query('{}', :secret::jsonpath)",
        "SELECT :secret || chr(0)",
        "INSERT INTO notes VALUES (:secret || :nul, '')",
        "SELEC :secret",
    ],
)
def test_an_error_names_its_kind_and_neither_statement_nor_values(
    database: PostgresDatabase, statement: str, caplog: pytest.LogCaptureFixture
) -> None:
    insert(database, SECRET)
    caplog.set_level(logging.DEBUG)

    with pytest.raises(DatabaseError) as raised:
        database.execute(statement, {"secret": SECRET, "nul": "\0"})

    told = logging.Formatter().formatException((type(raised.value), raised.value, raised.value.__traceback__))
    records = [str(vars(record)) for record in caplog.records]
    for text in (str(raised.value), str(raised.value.as_json()), *records):
        assert SECRET not in text
        assert "notes" not in text
        assert "SELE" not in text
    assert SECRET not in told
    assert insert(database, "after") == 1


def test_the_end_of_a_connection_is_logged_without_statement_or_values(
    database: PostgresDatabase, terminate: Callable[[], None], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    with pytest.raises(DatabaseUnavailable):
        in_transaction(database, lambda: insert(database, SECRET), terminate, lambda: insert(database, SECRET))

    assert any(record.name == "meridian.database" for record in caplog.records)
    for record in caplog.records:
        assert SECRET not in str(vars(record))
        assert "INSERT" not in str(vars(record))


def test_why_a_server_cannot_be_reached_is_logged_and_its_password_is_not(
    caplog: pytest.LogCaptureFixture,
) -> None:
    database = PostgresDatabase(f"postgresql://meridian:{SECRET}@127.0.0.1:{free_port()}/meridian")

    with pytest.raises(DatabaseUnavailable):
        database.execute("SELECT 1")

    (record,) = caplog.records
    assert "Connection refused" in record.reason  # type: ignore[attr-defined]
    assert SECRET not in str(vars(record))


@pytest.mark.parametrize(
    ("sql", "sent"),
    [
        ("SELECT :a, :b_2", "SELECT %(a)s, %(b_2)s"),
        ("SELECT :a::text, now()::date", "SELECT %(a)s::text, now()::date"),
        ("SELECT 7 % :a", "SELECT 7 %% %(a)s"),
        ("SELECT '{\"a\":1}', '12:30'", "SELECT '{\"a\":1}', '12:30'"),
    ],
)
def test_parameters_are_written_as_the_driver_wants_them(sql: str, sent: str) -> None:
    assert postgres_sql(sql) == sent.encode()


def test_a_per_cent_sign_is_itself_with_and_without_parameters(database: PostgresDatabase) -> None:
    assert database.execute("SELECT 7 % 4, '100%'") == [(3, "100%")]
    assert database.execute("SELECT 7 % :n::int, '100%'", {"n": 4}) == [(3, "100%")]
    assert database.execute("SELECT 7 % 4, '100%'", {}) == [(3, "100%")]
