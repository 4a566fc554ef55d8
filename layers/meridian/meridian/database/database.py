"""What a store needs of a database, whichever it is."""

from collections.abc import Mapping
from contextlib import AbstractContextManager
from typing import Any, Literal, Protocol

Row = tuple[Any, ...]
Parameters = Mapping[str, Any]


class Database(Protocol):
    """One connection, made on first use and replaced when it is dead. Safe to share between threads.

    SQL is the same text for both backends: parameters are written `:name`. Each statement commits by itself
    unless it runs inside `transaction()`.

    Every statement of this project may be run twice with the effect of once (reads, `ON CONFLICT DO NOTHING`,
    guarded updates): so `execute` sends a statement again when the connection turns out to be dead under it.

    Raises `DatabaseUnavailable` when the database cannot be reached, and `DatabaseError` when it refuses a
    statement; neither repeats the driver's text.
    """

    url: str

    @property
    def dialect(self) -> Literal["postgresql", "sqlite"]: ...

    def execute(self, sql: str, parameters: Parameters | None = None) -> list[Row]:
        """The rows of a statement; an empty list where it has none."""
        ...

    def count(self, sql: str, parameters: Parameters | None = None) -> int:
        """How many rows a statement changed."""
        ...

    def transaction(self) -> AbstractContextManager[None]:
        """The statements within commit together or not at all; other threads wait. Transactions do not nest."""
        ...

    def close(self) -> None:
        """Closes the connection; the next statement makes a new one."""
        ...
