"""The SQLite file: whole transactions, waiting writers, and silence about what was sent."""

import logging
import sqlite3
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from meridian.database import sqlite as module
from meridian.database.sqlite import SqliteDatabase
from meridian.errors import DatabaseError, DatabaseUnavailable

SECRET = "patient-4711"


@pytest.fixture
def database(tmp_path: Path) -> Iterator[SqliteDatabase]:
    database = SqliteDatabase(f"{tmp_path}/folder/that/is/made/notes.sqlite")
    database.execute("CREATE TABLE notes (id TEXT PRIMARY KEY)")
    yield database
    database.close()


def insert(database: SqliteDatabase, note_id: str) -> int:
    return database.count("INSERT INTO notes VALUES (:id) ON CONFLICT DO NOTHING", {"id": note_id})


def fail_after_insert(database: SqliteDatabase) -> None:
    with database.transaction():
        insert(database, "a")
        database.execute("SELECT missing FROM notes")


def test_a_transaction_is_undone_whole(database: SqliteDatabase) -> None:
    with pytest.raises(DatabaseError):
        fail_after_insert(database)
    assert database.execute("SELECT * FROM notes") == []
    assert insert(database, "b") == 1


def test_a_writer_waits_for_another_and_gives_up_as_unavailable(
    database: SqliteDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "BUSY_TIMEOUT_SECONDS", 0.2)
    other = SqliteDatabase(database.path)
    with database.transaction():
        with pytest.raises(DatabaseUnavailable):
            insert(other, "a")
        assert other.execute("SELECT * FROM notes") == []  # a reader does not wait

    assert insert(other, "a") == 1
    other.close()


def test_writers_in_threads_and_connections_all_succeed(database: SqliteDatabase) -> None:
    databases = [database, SqliteDatabase(database.path)]
    together = threading.Barrier(16)

    def work(number: int) -> int:
        together.wait()
        return sum(insert(databases[number % 2], f"{number}-{turn}") for turn in range(10))

    with ThreadPoolExecutor(16) as pool:
        assert sum(pool.map(work, range(16))) == 160
    databases[1].close()


def test_a_place_that_cannot_hold_a_file_is_unavailable(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(DatabaseUnavailable):
        SqliteDatabase(f"{tmp_path}/file/runs.sqlite").execute("SELECT 1")
    with pytest.raises(DatabaseUnavailable):
        SqliteDatabase(str(tmp_path)).execute("SELECT 1")


def test_a_file_that_is_no_database_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a database, for certain " * 100)
    with pytest.raises(DatabaseError, match="SQLITE_NOTADB"):
        SqliteDatabase(f"{tmp_path}/file").execute("SELECT * FROM notes")


def test_an_error_names_its_kind_and_neither_statement_nor_values(
    database: SqliteDatabase, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    insert(database, SECRET)
    with pytest.raises(DatabaseError, match="SQLITE_CONSTRAINT_PRIMARYKEY") as raised:
        database.execute("INSERT INTO notes VALUES (:id)", {"id": SECRET})

    for text in (str(raised.value.as_json()), *(str(vars(record)) for record in caplog.records)):
        assert SECRET not in text
        assert "notes" not in text


def test_the_home_directory_may_be_written_as_a_tilde(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    database = SqliteDatabase("~/runs.sqlite")
    database.execute("CREATE TABLE notes (id TEXT)")
    database.close()
    with sqlite3.connect(tmp_path / "runs.sqlite") as connection:
        assert connection.execute("SELECT name FROM sqlite_master").fetchall() == [("notes",)]
    connection.close()
