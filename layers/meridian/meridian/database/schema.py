"""Bringing a database up to date, by any number of processes at once.

`CREATE TABLE IF NOT EXISTS` is not atomic on PostgreSQL: it tests, then creates. Two processes that start on
an empty database collide. So everything that creates runs in one transaction under one advisory lock. Hundreds
of Lambda environments open a database that is current already: for them one query over the catalog is enough,
and no lock is taken.
"""

from collections.abc import Callable, Iterable
from typing import NamedTuple

from meridian.database.database import Database
from meridian.errors import ConfigurationError

# One key for every schema of the project; any fixed number that others do not use.
ADVISORY_LOCK_KEY = 7_305_804_402_566_070_112

Present = frozenset[str]


class Create(NamedTuple):
    """A statement that creates one named object: `table`, `index`, `sequence`, `constraint`, `trigger` or `function`.

    `sqlite` is the statement for SQLite where it differs; an empty one means that SQLite has no such object.
    """

    kind: str
    name: str  # for a constraint or a trigger: table.name
    sql: str
    sqlite: str | None = None

    @property
    def key(self) -> str:
        return f"{self.kind} {self.name}"

    def statement(self, dialect: str) -> str:
        return self.sqlite if dialect == "sqlite" and self.sqlite is not None else self.sql


class AddColumn(NamedTuple):
    """A column added to a table that an earlier release created."""

    table: str
    column: str
    type: str

    @property
    def key(self) -> str:
        return f"column {self.table}.{self.column}"

    def statement(self, dialect: str) -> str:
        return f"ALTER TABLE {self.table} ADD COLUMN {self.column} {self.type}"


Step = Create | AddColumn


class Schema(NamedTuple):
    """The objects of one concept, in the order in which they are made."""

    name: str
    steps: tuple[Step, ...]
    # Refuses or repairs what an earlier release left, given what is present. Runs under the lock.
    before: Callable[[Database, Present], None] | None = None
    # Fills what the steps created from rows that were there before. Runs under the lock, given what was present.
    after: Callable[[Database, Present], None] | None = None
    # The long part of `after`, done by a deployment before the lock and while others write; given the seconds left.
    ahead: Callable[[Database, Present, Callable[[], float]], None] | None = None

    def missing(self, present: Present, dialect: str) -> list[Step]:
        """The steps whose object is not there yet."""
        return [step for step in self.steps if step.statement(dialect) and step.key not in present]


def ensure_schema(database: Database, *schemas: Schema) -> None:
    """Creates what is missing of `schemas`; one query and no lock when nothing is.

    Raises `ConfigurationError` for a table that is too old to be brought up to date, and
    `DatabaseUnavailable`.
    """
    tables = sorted(_table_names(schemas))
    if _is_current(schemas, present_objects(database, tables), database.dialect):
        return
    with database.transaction():
        if database.dialect == "postgresql":
            database.execute("SELECT pg_advisory_xact_lock(:key)", {"key": ADVISORY_LOCK_KEY})
        for schema in schemas:
            _bring_up_to_date(database, schema, tables)


def _bring_up_to_date(database: Database, schema: Schema, tables: list[str]) -> None:
    before = present_objects(database, tables)
    if schema.before is not None:
        schema.before(database, before)
    # A table's own text already holds the columns and constraints of a new database: look again after each
    # table, so that only what is really missing is added.
    present = present_objects(database, tables)
    for step in schema.steps:
        if not step.statement(database.dialect) or step.key in present:
            continue
        if database.dialect == "postgresql" and isinstance(step, Create) and step.kind == "index":
            # A broken CREATE INDEX CONCURRENTLY leaves one that is not valid, over which IF NOT EXISTS passes.
            database.execute(f"DROP INDEX IF EXISTS {step.name}")
        database.execute(step.statement(database.dialect))
        present = present_objects(database, tables) if _is_table(step) else present | {step.key}
    if schema.after is not None:
        schema.after(database, before)


def _is_current(schemas: Iterable[Schema], present: Present, dialect: str) -> bool:
    return not any(schema.missing(present, dialect) for schema in schemas)


def _table_names(schemas: Iterable[Schema]) -> set[str]:
    steps = (step for schema in schemas for step in schema.steps)
    return {step.name for step in steps if isinstance(step, Create) and step.kind == "table"}


def _is_table(step: Step) -> bool:
    return isinstance(step, Create) and step.kind == "table"


def present_objects(database: Database, tables: list[str]) -> Present:
    """The objects of `tables` that the database has, each as `kind name`, in one query."""
    if database.dialect == "sqlite":
        rows = database.execute(_PRESENT_IN_SQLITE)
    else:
        rows = database.execute(_PRESENT_IN_POSTGRES, {"tables": tables})
    return frozenset(f"{kind} {name}" for kind, name in rows)


def refuse(detail: str) -> None:
    """Stops the start because of what an earlier release left in the database."""
    raise ConfigurationError(detail)


# An index that a broken CREATE INDEX CONCURRENTLY left behind is not valid, and does not count as present.
_PRESENT_IN_POSTGRES = """
WITH relation AS (
  SELECT oid, relname, relkind FROM pg_catalog.pg_class
  WHERE relnamespace = (SELECT oid FROM pg_catalog.pg_namespace WHERE nspname = current_schema())
)
SELECT 'table', relname FROM relation WHERE relkind IN ('r', 'p') AND relname = ANY(:tables)
UNION ALL
SELECT 'sequence', relname FROM relation WHERE relkind = 'S'
UNION ALL
SELECT 'column', r.relname || '.' || a.attname
FROM relation r JOIN pg_catalog.pg_attribute a ON a.attrelid = r.oid
WHERE r.relname = ANY(:tables) AND a.attnum > 0 AND NOT a.attisdropped
UNION ALL
SELECT 'index', i.relname
FROM relation r JOIN pg_catalog.pg_index x ON x.indrelid = r.oid JOIN relation i ON i.oid = x.indexrelid
WHERE r.relname = ANY(:tables) AND x.indisvalid
UNION ALL
SELECT 'constraint', r.relname || '.' || c.conname
FROM relation r JOIN pg_catalog.pg_constraint c ON c.conrelid = r.oid
WHERE r.relname = ANY(:tables)
UNION ALL
SELECT 'trigger', r.relname || '.' || t.tgname
FROM relation r JOIN pg_catalog.pg_trigger t ON t.tgrelid = r.oid
WHERE r.relname = ANY(:tables) AND NOT t.tgisinternal
UNION ALL
SELECT 'function', proname FROM pg_catalog.pg_proc
WHERE proname LIKE 'meridian%'
  AND pronamespace = (SELECT oid FROM pg_catalog.pg_namespace WHERE nspname = current_schema())
"""

_PRESENT_IN_SQLITE = """
SELECT type, CASE type WHEN 'trigger' THEN tbl_name || '.' || name ELSE name END FROM sqlite_master
UNION ALL
SELECT 'column', m.name || '.' || c.name FROM sqlite_master m, pragma_table_info(m.name) c WHERE m.type = 'table'
"""
