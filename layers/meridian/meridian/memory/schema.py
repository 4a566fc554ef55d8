"""The table of workflow memory. PostgreSQL only, beside the workflow definitions."""

from meridian.database import Create, Database, Schema
from meridian.database.schema import Present

TABLE = """CREATE TABLE IF NOT EXISTS workflow_memory (
  subject_kind TEXT NOT NULL,      -- context kind, e.g. patient; '' for scope workflow-global
  subject_id TEXT NOT NULL,        -- '' for scope workflow-global
  scope TEXT NOT NULL,             -- workflow, subject or workflow-global
  workflow TEXT NOT NULL DEFAULT '', -- workflow slug; '' for scope subject
  key TEXT NOT NULL,
  type JSONB NOT NULL,             -- TypeRef declared by the writing node
  type_name TEXT NOT NULL,         -- the same type, readable: Observation, Decimal[]…
  value TEXT NOT NULL,             -- the value, serialized as JSON
  version BIGINT NOT NULL DEFAULT nextval('workflow_memory_version_seq'),
  written_at TIMESTAMPTZ NOT NULL DEFAULT now(),
  expires_at TIMESTAMPTZ,          -- set by every write
  written_by JSONB NOT NULL,       -- { workflow, run, node }
  CONSTRAINT workflow_memory_scope_workflow CHECK ((scope = 'subject') = (workflow = '')),
  PRIMARY KEY (subject_kind, subject_id, scope, workflow, key)
)"""


def _check(name: str, condition: str) -> Create:
    sql = f"ALTER TABLE workflow_memory ADD CONSTRAINT {name} CHECK ({condition})"
    return Create("constraint", f"workflow_memory.{name}", sql)


def _drop_unnamed_scope_check(database: Database, present: Present) -> None:
    """A table from before the workflow-global scope has an unnamed check on the scope list, which would refuse it.

    It goes in the transaction in which `workflow_memory_scope_values` takes its place, so once. Rows are kept.
    """
    if "constraint workflow_memory.workflow_memory_scope_check" in present:
        database.execute("ALTER TABLE workflow_memory DROP CONSTRAINT workflow_memory_scope_check")


MEMORY_SCHEMA = Schema(
    name="workflow memory",
    steps=(
        Create(
            "sequence",
            "workflow_memory_version_seq",
            "CREATE SEQUENCE IF NOT EXISTS workflow_memory_version_seq",
        ),
        Create("table", "workflow_memory", TABLE),
        _check("workflow_memory_scope_values", "scope IN ('workflow', 'subject', 'workflow-global')"),
        _check(
            "workflow_memory_scope_subject",
            "(scope = 'workflow-global') = (subject_kind = '' AND subject_id = '')",
        ),
        # Expired items are found without reading the live ones. Lists of a subject read the primary key.
        Create(
            "index",
            "workflow_memory_expires_at",
            "CREATE INDEX IF NOT EXISTS workflow_memory_expires_at ON workflow_memory (expires_at)",
        ),
    ),
    before=_drop_unnamed_scope_check,
)
