"""The table of workflow memory, made new and brought up to date."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from meridian.database import Database, ensure_schema, open_database
from meridian.errors import DatabaseError
from meridian.memory.model import Address, Written
from meridian.memory.schema import MEMORY_SCHEMA
from meridian.memory.store import MemoryStore, open_memory_store
from tests.integration.memory.conftest import ADDRESS, a_write

BEFORE_WORKFLOW_GLOBAL = """
CREATE SEQUENCE workflow_memory_version_seq;
CREATE TABLE workflow_memory (
  subject_kind TEXT NOT NULL,
  subject_id TEXT NOT NULL,
  scope TEXT NOT NULL CHECK (scope IN ('workflow', 'subject')),
  workflow TEXT NOT NULL DEFAULT '',
  key TEXT NOT NULL,
  type JSONB NOT NULL,
  type_name TEXT NOT NULL,
  value TEXT NOT NULL,
  version BIGINT NOT NULL DEFAULT nextval('workflow_memory_version_seq'),
  written_at TIMESTAMPTZ NOT NULL DEFAULT now(),
  expires_at TIMESTAMPTZ,
  written_by JSONB NOT NULL,
  CONSTRAINT workflow_memory_scope_workflow CHECK ((scope = 'subject') = (workflow = '')),
  PRIMARY KEY (subject_kind, subject_id, scope, workflow, key)
);
INSERT INTO workflow_memory (subject_kind, subject_id, scope, workflow, key, type, type_name, value, expires_at,
  written_by)
VALUES ('patient', 'sub-zq7', 'workflow', 'potassium-alert', 'key-zq7', '{}', 'Decimal', '31415.92650',
  now() + interval '1 day', '{"workflow": "potassium-alert", "run": "e-0:potassium-alert", "node": "n"}')
"""
GLOBAL = Address("", "", "workflow-global", "potassium-alert", "key-zq7")

COLUMNS = """
SELECT column_name, data_type, is_nullable, column_default FROM information_schema.columns
WHERE table_name = 'workflow_memory' ORDER BY ordinal_position
"""
CONSTRAINTS = """
SELECT conname, pg_get_constraintdef(oid) FROM pg_constraint
WHERE conrelid = 'workflow_memory'::regclass AND contype <> 'n' ORDER BY conname
"""
INDEXES = "SELECT indexname, indexdef FROM pg_indexes WHERE tablename = 'workflow_memory' ORDER BY indexname"


def everything(database: Database) -> list[object]:
    return [database.execute(query) for query in (COLUMNS, CONSTRAINTS, INDEXES)]


def test_the_constraints_are_those_of_the_specification(database: Database) -> None:
    ensure_schema(database, MEMORY_SCHEMA)
    names = [name for name, _ in database.execute(CONSTRAINTS)]
    assert names == [
        "workflow_memory_pkey",
        "workflow_memory_scope_subject",
        "workflow_memory_scope_values",
        "workflow_memory_scope_workflow",
    ]


def test_an_earlier_table_ends_like_a_new_one_with_its_rows(new_postgres_url: Callable[[], str]) -> None:
    new, earlier = open_database(new_postgres_url()), open_database(new_postgres_url())
    earlier.execute(BEFORE_WORKFLOW_GLOBAL)
    assert "workflow_memory_scope_check" in [name for name, _ in earlier.execute(CONSTRAINTS)]

    ensure_schema(new, MEMORY_SCHEMA)
    store = open_memory_store(earlier)

    assert everything(earlier) == everything(new)
    item = store.read(ADDRESS)
    assert item is not None
    assert (item.value, item.version) == ("31415.92650", 1)
    assert isinstance(store.write(a_write(GLOBAL)), Written)


def test_the_upgrade_happens_once(database: Database) -> None:
    database.execute(BEFORE_WORKFLOW_GLOBAL)
    ensure_schema(database, MEMORY_SCHEMA)
    identity = "SELECT oid, conname FROM pg_constraint WHERE conrelid = 'workflow_memory'::regclass ORDER BY oid"
    upgraded = database.execute(identity)
    ensure_schema(database, MEMORY_SCHEMA)
    assert database.execute(identity) == upgraded


@pytest.mark.parametrize("earlier", ["", BEFORE_WORKFLOW_GLOBAL])
def test_many_that_start_at_once_do_not_collide(postgres_url: str, earlier: str) -> None:
    if earlier:
        open_database(postgres_url).execute(earlier)

    def start(number: int) -> Written:
        store = open_memory_store(open_database(postgres_url))
        outcome = store.write(a_write(GLOBAL, node=f"n.{number}"))
        assert isinstance(outcome, Written)
        store.database.close()
        return outcome

    with ThreadPoolExecutor(12) as pool:
        versions = [outcome.version for outcome in pool.map(start, range(12))]
    assert len(set(versions)) == 12


@pytest.mark.parametrize(
    "address",
    [
        Address("patient", "sub-zq7", "tenant", "w", "k"),  # type: ignore[arg-type]
        Address("patient", "sub-zq7", "subject", "w", "k"),
        Address("patient", "sub-zq7", "workflow", "", "k"),
        Address("patient", "sub-zq7", "workflow-global", "w", "k"),
        Address("", "", "workflow", "w", "k"),
    ],
)
def test_the_database_itself_refuses_an_address_that_is_none(store: MemoryStore, address: Address) -> None:
    with pytest.raises(DatabaseError) as refused:
        store.write(a_write(address))
    assert "sub-zq7" not in str(refused.value)
