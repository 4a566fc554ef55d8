"""Bringing the databases up to date at a deployment, while functions of the release before go on writing.

`ensure_schema` builds what is missing in one locked transaction. That is right for an empty database, and for
columns, which PostgreSQL adds at once. An index on a large table would keep its writers waiting until it is built:
so here the indexes of tables that exist are built concurrently, after that transaction.
"""

import logging
import re
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from meridian.database import Create, Database, Schema, ensure_schema
from meridian.database.schema import Present, present_objects
from meridian.errors import DatabaseError, DatabaseUnavailable, MeridianError

logger = logging.getLogger("meridian.database")

WAIT_SECONDS = 1.0
# How long a database that was made a moment ago may take until it answers, as one behind a new proxy does.
ANSWER_WITHIN_SECONDS = 240.0
MOST_STEPS = 10  # of one index: more mean that it is made and lost again and again

_ON_TABLE = re.compile(r"^CREATE INDEX IF NOT EXISTS \w+ ON (\w+) ")

INDEX_STATE = """
SELECT CASE WHEN x.indisvalid THEN 'valid'
  WHEN EXISTS (SELECT 1 FROM pg_stat_progress_create_index p WHERE p.index_relid = x.indexrelid) THEN 'building'
  ELSE 'broken' END
FROM pg_index x JOIN pg_class i ON i.oid = x.indexrelid
WHERE i.relname = :name AND i.relnamespace = current_schema()::regnamespace
"""


class MigrationError(MeridianError):
    """The database could not be brought up to date; the message is for the one who deploys."""


def migrate(database: Database, schemas: tuple[Schema, ...], remaining: Callable[[], float]) -> list[str]:
    """Brings the database up to date; the names of the indexes that were built concurrently.

    `remaining` tells the seconds that are left. When they are over PostgreSQL goes on building, and the migration
    that is run next waits for it. Raises `MigrationError`, `ConfigurationError` for a table that is too old, and
    `DatabaseUnavailable`.
    """
    present = _present(database, schemas)
    indexes = _indexes_to_build(database, schemas, present)
    names = {index.name for index in indexes}
    with _told("The schema could not be brought up to date"):
        _fill_ahead(database, schemas, present, remaining)
        ensure_schema(database, *(_without(schema, names) for schema in schemas))
    for index in indexes:
        with _told(f"The index {index.name} could not be built"):
            _build(database, index, remaining)
    return sorted(names)


def await_answer(database: Database, remaining: Callable[[], float], within: float = ANSWER_WITHIN_SECONDS) -> None:
    """Returns once the database answers. Raises `DatabaseUnavailable` when it does not within so many seconds."""
    end = time.monotonic() + min(within, remaining())
    while True:
        try:
            database.execute("SELECT 1")
        except DatabaseUnavailable:
            if time.monotonic() + WAIT_SECONDS >= end:
                raise
            logger.info("the database does not answer yet")
            time.sleep(WAIT_SECONDS)
        else:
            return


def _present(database: Database, schemas: tuple[Schema, ...]) -> Present:
    return present_objects(database, [step.name for step in _creations(schemas) if step.kind == "table"])


def _creations(schemas: tuple[Schema, ...]) -> list[Create]:
    return [step for schema in schemas for step in schema.steps if isinstance(step, Create)]


def _fill_ahead(
    database: Database, schemas: tuple[Schema, ...], present: Present, remaining: Callable[[], float]
) -> None:
    if database.dialect != "postgresql":
        return
    for schema in schemas:
        if schema.ahead is not None:
            schema.ahead(database, present, remaining)


@contextmanager
def _told(what: str) -> Iterator[None]:
    """Adds what was tried to the database's refusal, which names the kind of error and no values."""
    try:
        yield
    except DatabaseError as error:
        raise MigrationError(f"{what}: {error.detail}") from None


def _indexes_to_build(database: Database, schemas: tuple[Schema, ...], present: Present) -> list[Create]:
    """The missing indexes of tables that exist. SQLite builds its indexes with everything else."""
    if database.dialect != "postgresql":
        return []
    indexes = [step for step in _creations(schemas) if step.kind == "index" and step.key not in present]
    return [index for index in indexes if f"table {_table_of(index)}" in present]


def _build(database: Database, index: Create, remaining: Callable[[], float]) -> None:
    """Builds one index, whatever an interrupted migration or one that runs right now has left of it."""
    for _ in range(MOST_STEPS):
        match _state(database, index.name):
            case "valid":
                return
            case "building":
                _wait_until_built(database, index.name, remaining)
            case "broken":
                logger.info("an index that an interrupted migration left is dropped", extra={"index": index.name})
                database.execute(f"DROP INDEX CONCURRENTLY IF EXISTS {index.name}")
            case _:
                logger.info("an index is built", extra={"index": index.name})
                statement = index.sql.replace("CREATE INDEX ", "CREATE INDEX CONCURRENTLY ", 1)
                _in_time(lambda: database.execute(statement), index.name, remaining)  # noqa: B023 - runs before the next
    raise MigrationError(f"The index {index.name} does not become valid.")


def _in_time(work: Callable[[], object], name: str, remaining: Callable[[], float]) -> None:
    """Does `work`, and stops waiting for it when the time is over."""
    errors: list[BaseException] = []

    def run() -> None:
        try:
            work()
        except BaseException as error:  # handed to the thread that waits
            errors.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(max(0.0, remaining()))
    if thread.is_alive():
        raise _still_building(name)
    if errors:
        raise errors[0]


def _wait_until_built(database: Database, name: str, remaining: Callable[[], float]) -> None:
    while _state(database, name) == "building":
        if remaining() <= WAIT_SECONDS:
            raise _still_building(name)
        time.sleep(WAIT_SECONDS)


def _still_building(name: str) -> MigrationError:
    return MigrationError(
        f"The index {name} is still being built. PostgreSQL goes on with it: deploy again when it is done, see "
        "pg_stat_progress_create_index."
    )


def _state(database: Database, index: str) -> str | None:
    """`valid`, `building`, `broken`, or None for no such index."""
    rows = database.execute(INDEX_STATE, {"name": index})
    return str(rows[0][0]) if rows else None


def _table_of(index: Create) -> str:
    match = _ON_TABLE.match(index.sql)
    if match is None:
        raise ValueError(f"{index.name} is not created as CREATE INDEX IF NOT EXISTS … ON …")
    return match[1]


def _without(schema: Schema, indexes: set[str]) -> Schema:
    steps = (step for step in schema.steps if not (isinstance(step, Create) and step.name in indexes))
    return schema._replace(steps=tuple(steps))
