"""Workflow memory on PostgreSQL."""

import logging
from typing import Any

from meridian import jsontext
from meridian.database import Database, Row, ensure_schema
from meridian.memory import queries
from meridian.memory.model import (
    NO_ITEM,
    Address,
    Chosen,
    Conflicted,
    Current,
    Forgotten,
    Item,
    Page,
    Position,
    Write,
    Written,
)
from meridian.memory.rules import verdict_on_refusal
from meridian.memory.schema import MEMORY_SCHEMA

logger = logging.getLogger("meridian.memory")

# Of one page of a list: an answer of a Lambda function is at most 6 MB, in which every quote of a body counts twice.
PAGE_BYTES = 2 * 1024 * 1024


class MemoryStore:
    """The items, and their versions.

    Every operation is one statement, and safe to run again after it was cut; one that is refused reads what refused
    it, to tell a conflict from a retry.

    Every method may raise `DatabaseUnavailable`.
    """

    def __init__(self, database: Database) -> None:
        self.database = database

    def read(self, address: Address) -> Item | None:
        """The item at `address`; None where nothing is, or it has expired."""
        rows = self.database.execute(queries.READ, address._asdict())
        return _item(rows[0]) if rows else None

    def write(self, write: Write) -> Written | Conflicted:
        """Keeps the value under a new version, where the expected version allows it.

        The retry of a write that happened is answered with that write's version.
        """
        statement, parameters = _statement(write), _parameters(write)
        while True:  # each further round means that somebody else's change came in between
            rows = self.database.execute(statement, parameters)
            if rows:
                return Written(*rows[0])
            verdict = verdict_on_refusal(write, self._current(write.address))
            if isinstance(verdict, Conflicted):
                _log_conflict(verdict, write.expected_version)
            if verdict is not None:
                return verdict

    def forget(self, address: Address, expected_version: int | None = None) -> Forgotten | Conflicted:
        """Removes the item at `address`, where the expected version allows it."""
        parameters = {**address._asdict(), "expected_version": expected_version}
        rows = self.database.execute(queries.FORGET, parameters)
        if rows:
            return Forgotten(rows[0][0])
        current = self._current(address) if expected_version is not None else None
        if current is None:
            return Forgotten(False)
        conflicted = Conflicted(current.version)
        _log_conflict(conflicted, expected_version)
        return conflicted

    def forget_subject(self, subject_kind: str, subject_id: str) -> int:
        """Removes all items of a subject; how many were live."""
        parameters = {"subject_kind": subject_kind, "subject_id": subject_id}
        return int(self.database.execute(queries.FORGET_SUBJECT, parameters)[0][0])

    def find(self, chosen: Chosen, after: Position | None, limit: int) -> Page:
        """Up to `limit` live items from behind `after`, and no more than about `PAGE_BYTES` of them."""
        rows = self.database.execute(*_page(chosen, after, limit))
        items = [_item(row[:-1]) for row in rows]
        is_cut = bool(rows) and rows[0][-1] > len(rows)
        return Page(items, next=Position(*items[-1].address[2:]) if is_cut else None)

    def delete_expired(self, limit: int) -> int:
        """Removes up to `limit` expired items; how many it removed."""
        return self.database.count(queries.DELETE_EXPIRED, {"limit": limit})

    def _current(self, address: Address) -> Current | None:
        rows = self.database.execute(queries.CURRENT, address._asdict())
        return Current(*rows[0]) if rows else None


def _log_conflict(conflicted: Conflicted, expected_version: int | None) -> None:
    """An answer like any other, not an error."""
    logger.debug(
        "memory is at another version", extra={"expected": expected_version, "current": conflicted.current_version}
    )


def _page(chosen: Chosen, after: Position | None, limit: int) -> tuple[str, dict[str, Any]]:
    filters = []
    parameters: dict[str, Any] = {
        "subject_kind": chosen.subject_kind,
        "subject_id": chosen.subject_id,
        "limit": limit,
        "bytes": PAGE_BYTES,
    }
    if chosen.scope is not None:
        filters.append(queries.OF_SCOPE)
        parameters["scope"] = chosen.scope
    if chosen.workflow is not None:
        filters.append(queries.OF_WORKFLOW)
        parameters["workflow"] = chosen.workflow
    if after is not None:
        filters.append(queries.AFTER)
        parameters |= {f"after_{column}": value for column, value in after._asdict().items()}
    return queries.LIST.format(filters=" ".join(filters)), parameters


def _statement(write: Write) -> str:
    if write.expected_version is None:
        return queries.WRITE
    return queries.WRITE_IF_ABSENT if write.expected_version == NO_ITEM else queries.WRITE_IF_VERSION


def _parameters(write: Write) -> dict[str, Any]:
    by = write.written_by
    return {
        **write.address._asdict(),
        "type": write.type,
        "type_name": write.type_name,
        "value": write.value,
        "retention": write.retention,
        "written_by": jsontext.serialize({"workflow": by.workflow, "run": by.run, "node": by.node}),
        "expected_version": write.expected_version,
    }


def _item(row: Row) -> Item:
    *address, type_, type_name, value, version, written_at, expires_at, written_by = row
    return Item(Address._make(address), type_, type_name, value, version, written_at, expires_at, written_by)


def open_memory_store(database: Database) -> MemoryStore:
    """Workflow memory in `database`, whose table is brought up to date. Raises `DatabaseUnavailable`."""
    ensure_schema(database, MEMORY_SCHEMA)
    return MemoryStore(database)
