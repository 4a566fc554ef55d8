"""PostgreSQL through psycopg, from environments that sleep and connections that die."""

import logging
import re
import select
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from typing import Any, Literal, TypeVar

import psycopg
from psycopg.conninfo import conninfo_to_dict

from meridian.database.database import Parameters, Row
from meridian.database.logins import Login
from meridian.errors import DatabaseError, DatabaseUnavailable

logger = logging.getLogger("meridian.database")

CONNECT_TIMEOUT_SECONDS = 5
KEEPALIVES: dict[str, Any] = {
    "keepalives_idle": 30,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 10_000,  # milliseconds until unanswered data counts as a dead connection
}

# The server became a standby of the one that took over, and this connection still reaches it.
READ_ONLY = psycopg.errors.ReadOnlySqlTransaction.sqlstate
# A statement beyond the server's limits, such as an index entry that is too long, fails however often it is sent.
PROGRAM_LIMITS = "54"

Connect = Callable[[], "psycopg.Connection[Row]"]
Result = TypeVar("Result")


class PostgresDatabase:
    """One PostgreSQL connection per process.

    No named prepared statement is ever made: behind a connection proxy it would pin the session.
    """

    dialect: Literal["postgresql"] = "postgresql"

    def __init__(self, url: str, connect: Connect | None = None) -> None:
        self.url = url
        self._connect = connect or (lambda: connect_to(url))
        self._lock = threading.RLock()
        self._connection: psycopg.Connection[Row] | None = None
        self._in_transaction = False

    def execute(self, sql: str, parameters: Parameters | None = None) -> list[Row]:
        return self._run(sql, parameters, _rows)

    def count(self, sql: str, parameters: Parameters | None = None) -> int:
        return self._run(sql, parameters, _changed)

    @contextmanager
    def transaction(self) -> Iterator[None]:
        with self._lock:
            if self._in_transaction:
                raise RuntimeError("Transactions do not nest.")
            self.execute("SELECT 1")  # replaces a dead connection while that is still possible
            connection = self._connected()
            self._in_transaction = True
            try:
                with connection.transaction():
                    yield
            except psycopg.Error as error:  # of the commit: those of the statements are translated already
                raise self._failed(error) from None
            finally:
                self._in_transaction = False

    def close(self) -> None:
        with self._lock:
            if self._connection is not None:
                with suppress(psycopg.Error):
                    self._connection.close()
                self._connection = None

    def _run(self, sql: str, parameters: Parameters | None, take: Callable[["psycopg.Cursor[Row]"], Result]) -> Result:
        """Runs a statement; on a connection that died under it, once more on a new one.

        A connection that the server closed while the environment slept is found before the statement is
        sent (`_connected`); one that dies during the statement is found by its error. A statement of an
        open transaction is never repeated alone: the transaction is gone with the connection.
        """
        # Without parameters the text goes out as it is, and may then be several statements.
        statement = postgres_sql(sql) if parameters else sql.encode()
        parameters = parameters or None
        with self._lock:
            connection = self._connected()
            try:
                return take(connection.execute(statement, parameters))
            except psycopg.Error as error:
                if self._in_transaction or not (self._is_dead() or error.sqlstate == READ_ONLY):
                    raise self._failed(error) from None
                logger.info("connection replaced", extra={"error": type(error).__name__})
            self.close()
            connection = self._connected()
            try:
                return take(connection.execute(statement, parameters))
            except psycopg.Error as error:
                raise self._failed(error) from None

    def _connected(self) -> "psycopg.Connection[Row]":
        if self._connection is not None and not self._in_transaction and self._is_dead():
            self.close()
        if self._connection is None:
            try:
                self._connection = self._connect()
            except psycopg.Error as error:
                # What was refused stands last; before it stands what was connected to.
                raise self._failed(error, reason=str(error).strip().rpartition(": ")[2]) from None
        return self._connection

    def _is_dead(self) -> bool:
        """An idle connection has nothing to say: readable means that the server closed it."""
        connection = self._connection
        if connection is None or connection.closed:
            return True
        if connection.pgconn.transaction_status != psycopg.pq.TransactionStatus.IDLE:
            return False
        readable = select.poll()
        readable.register(connection.pgconn.socket, select.POLLIN)
        return bool(readable.poll(0))

    def _failed(self, error: psycopg.Error, **more: str) -> DatabaseError | DatabaseUnavailable:
        """The answer for `error`, whose own text may hold values and goes nowhere."""
        kind = {"error": type(error).__name__, "sqlstate": error.sqlstate, **more}
        is_passing = isinstance(error, psycopg.OperationalError | psycopg.InterfaceError)
        if error.sqlstate == READ_ONLY or (is_passing and (error.sqlstate or "")[:2] != PROGRAM_LIMITS):
            logger.warning("database out of reach", extra=kind)
            return DatabaseUnavailable("The database is out of reach.")
        logger.error("database refused a statement", extra=kind)
        return DatabaseError(f"The database refused a statement ({kind['error']}).")


def connect_to(conninfo: str = "", **parameters: Any) -> "psycopg.Connection[Row]":
    """A connection that commits each statement, as `PostgresDatabase` needs it."""
    chosen: dict[str, Any] = {
        "connect_timeout": CONNECT_TIMEOUT_SECONDS,
        "application_name": "meridian",
        **KEEPALIVES,
        **parameters,
    }
    return psycopg.connect(conninfo, autocommit=True, prepare_threshold=None, **chosen)


def log_in(url: str, login: Login) -> "psycopg.Connection[Row]":
    """A connection by the first attempt of `login` that the server lets in.

    What the URL gives comes before the login's own, so that a proxy stands before the host of a secret; user and
    password are the login's. Raises `psycopg.OperationalError`, the last one when every attempt was refused.
    """
    where = {name: value for name, value in conninfo_to_dict(url).items() if name not in ("user", "password")}
    refusal: psycopg.OperationalError | None = None
    for attempt in login.attempts():
        try:
            return connect_to(**{**attempt, **where})
        except psycopg.OperationalError as error:
            # The server asked for the password and ended the session: other failures are not for another password.
            if error.pgconn is None or not error.pgconn.used_password:
                raise
            refusal = error
    raise refusal or psycopg.OperationalError("no login")


@cache
def postgres_sql(sql: str) -> bytes:
    """`:name` parameters as psycopg writes them, and a `%` as one; `::type` casts are left alone."""
    return re.sub(r"(?<![:\w]):([a-z_]\w*)", r"%(\1)s", sql.replace("%", "%%")).encode()


def _rows(cursor: "psycopg.Cursor[Row]") -> list[Row]:
    # not `cursor.description`, which makes an object for each column
    has_rows = cursor.pgresult is not None and cursor.pgresult.nfields > 0
    return cursor.fetchall() if has_rows else []


def _changed(cursor: "psycopg.Cursor[Row]") -> int:
    return cursor.rowcount
