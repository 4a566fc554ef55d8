"""Which steps of a schema are missing, by what a database has."""

from meridian.database import AddColumn, Create, Schema

TABLE = Create("table", "notes", "CREATE TABLE notes (id TEXT)")
COLUMN = AddColumn("notes", "text", "TEXT")
INDEX = Create("index", "notes_text", "CREATE INDEX notes_text ON notes (text)")
SEQUENCE = Create("sequence", "notes_number", "CREATE SEQUENCE notes_number", sqlite="")
SCHEMA = Schema("notes", (TABLE, COLUMN, INDEX, SEQUENCE))


def test_an_empty_database_lacks_every_step_in_order() -> None:
    assert SCHEMA.missing(frozenset(), "postgresql") == [TABLE, COLUMN, INDEX, SEQUENCE]


def test_a_step_that_a_database_has_no_use_for_is_not_missing_there() -> None:
    assert SCHEMA.missing(frozenset(), "sqlite") == [TABLE, COLUMN, INDEX]


def test_what_is_present_under_its_kind_and_name_is_not_missing() -> None:
    present = frozenset({"table notes", "column notes.text", "table notes_text", "sequence notes_number"})
    assert SCHEMA.missing(present, "postgresql") == [INDEX]


def test_a_column_is_added_to_its_table() -> None:
    assert COLUMN.statement("sqlite") == "ALTER TABLE notes ADD COLUMN text TEXT"
