"""SQLite, for a run index on one machine."""

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Literal

from meridian.database.database import Parameters, Row
from meridian.errors import DatabaseUnavailable

BUSY_TIMEOUT_SECONDS = 5.0


class SqliteDatabase:
    """A SQLite file, or `:memory:`."""

    dialect: Literal["sqlite"] = "sqlite"

    def __init__(self, path: str) -> None:
        self.path = path if path == ":memory:" else str(Path(path).expanduser())
        self.url = f"sqlite:{self.path}"
        self._lock = threading.RLock()
        self._connection: sqlite3.Connection | None = None

    def execute(self, sql: str, parameters: Parameters | None = None) -> list[Row]:
        with self._lock, _translated_errors():
            return self._connected().execute(sql, parameters or {}).fetchall()

    def count(self, sql: str, parameters: Parameters | None = None) -> int:
        with self._lock, _translated_errors():
            return self._connected().execute(sql, parameters or {}).rowcount

    @contextmanager
    def transaction(self) -> Iterator[None]:
        with self._lock:
            # IMMEDIATE takes the write lock at once: two processes that initialise wait for each other.
            self.execute("BEGIN IMMEDIATE")
            try:
                yield
                self.execute("COMMIT")
            except BaseException:
                with suppress(sqlite3.Error, DatabaseUnavailable):
                    self.execute("ROLLBACK")
                raise

    def close(self) -> None:
        with self._lock:
            if self._connection is not None:
                self._connection.close()
                self._connection = None

    def _connected(self) -> sqlite3.Connection:
        if self._connection is None:
            if self.path != ":memory:":
                Path(self.path).parent.mkdir(parents=True, exist_ok=True)
            connection = sqlite3.connect(
                self.path, timeout=BUSY_TIMEOUT_SECONDS, isolation_level=None, check_same_thread=False
            )
            _use_write_ahead_log(connection)
            self._connection = connection
        return self._connection


def _use_write_ahead_log(connection: sqlite3.Connection) -> None:
    """Readers do not wait for the writer. The mode is kept in the file, so a lost race here is no loss."""
    with suppress(sqlite3.OperationalError):
        connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")


@contextmanager
def _translated_errors() -> Iterator[None]:
    try:
        yield
    except sqlite3.OperationalError as error:
        if _out_of_reach(error):
            raise DatabaseUnavailable("The database is out of reach.") from None
        raise


def _out_of_reach(error: Any) -> bool:
    primary = getattr(error, "sqlite_errorcode", 0) & 0xFF
    return primary in {
        sqlite3.SQLITE_BUSY,
        sqlite3.SQLITE_CANTOPEN,
        sqlite3.SQLITE_IOERR,
        sqlite3.SQLITE_FULL,
    }
