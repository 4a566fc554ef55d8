"""SQLite, for a run index on one machine."""

import logging
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Literal

from meridian.database.database import Parameters, Row
from meridian.errors import DatabaseError, DatabaseUnavailable

logger = logging.getLogger("meridian.database")

BUSY_TIMEOUT_SECONDS = 5.0
OUT_OF_REACH = {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_FULL}


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
                with suppress(DatabaseError, DatabaseUnavailable):
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
    except (sqlite3.Error, OSError) as error:
        raise _failed(error) from None


def _failed(error: sqlite3.Error | OSError) -> DatabaseError | DatabaseUnavailable:
    """The answer for `error`, whose own text goes nowhere."""
    name = getattr(error, "sqlite_errorname", type(error).__name__)
    if isinstance(error, OSError) or getattr(error, "sqlite_errorcode", 0) & 0xFF in OUT_OF_REACH:
        logger.warning("database out of reach", extra={"error": name})
        return DatabaseUnavailable("The database is out of reach.")
    logger.error("database refused a statement", extra={"error": name})
    return DatabaseError(f"The database refused a statement ({name}).")
