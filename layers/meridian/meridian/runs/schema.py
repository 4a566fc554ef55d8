"""The tables of the run index, identical on PostgreSQL and SQLite.

The DDL runs first, then the additive migrations in the order in which releases added them. An index on a column
that a migration adds stays after that column, never in the DDL: on a database of an earlier release the column
would not exist yet.
"""

from collections.abc import Callable

from meridian import jsontext
from meridian.database import AddColumn, Create, Database, Schema
from meridian.database.schema import Present, refuse
from meridian.errors import ConfigurationError

DDL = """CREATE TABLE IF NOT EXISTS runs (
  id TEXT PRIMARY KEY,
  service TEXT NOT NULL,
  workflow_name TEXT NOT NULL,
  event TEXT NOT NULL,
  created_at TEXT NOT NULL,
  final_status TEXT,
  workflow_file TEXT,
  updated_at TEXT,
  workflow_slug TEXT,
  spec_version INTEGER,
  spec_hash TEXT,
  subjects TEXT
)"""


def _index(name: str, on: str) -> Create:
    return Create("index", name, f"CREATE INDEX IF NOT EXISTS {name} ON {on}")


MIGRATIONS = (
    AddColumn("runs", "subjects", "TEXT"),
    AddColumn("runs", "final_status", "TEXT"),
    AddColumn("runs", "workflow_file", "TEXT"),
    AddColumn("runs", "updated_at", "TEXT"),
    AddColumn("runs", "workflow_slug", "TEXT"),
    AddColumn("runs", "spec_version", "INTEGER"),
    AddColumn("runs", "spec_hash", "TEXT"),
    AddColumn("runs", "source_event_id", "TEXT"),
    _index("runs_source_event_id", "runs (source_event_id)"),
    AddColumn("runs", "route_match", "TEXT"),
    AddColumn("runs", "event_type", "TEXT"),
    _index("runs_event_type_created_at", "runs (event_type, created_at)"),
    AddColumn("runs", "restate_url", "TEXT"),
    _index("runs_live_restate_url_created_at", "runs (restate_url, created_at, id) WHERE final_status IS NULL"),
    AddColumn("runs", "journal_format", "INTEGER"),
    AddColumn("runs", "trigger_id", "TEXT"),
    AddColumn("runs", "spec_json", "TEXT"),
)

# A run's status as lists filter by it. A `final_status` that is neither literal reads as null, so the run is live.
STATUS = "(CASE WHEN final_status IN ('completed', 'failed') THEN final_status ELSE 'live' END)"

# The rows whose file is not the one their slug tells: those of earlier releases. All others are found by slug.
UNUSUAL_FILE = "(workflow_slug IS NULL OR workflow_slug || '.json' <> workflow_file)"

# True of every run, and there to be repeated: an index under such a condition serves only the lists that say it.
# Else the planner, which takes each workflow's runs to be spread evenly over time, may walk all runs to collect a
# page of one workflow, and reads half the table when that workflow's runs are old.
OF_ALL_RUNS = "id <> ''"
OF_ANY_WORKFLOW = "service <> ''"

# What the lists need. Each goes on with (created_at, id), the order of every list, after the columns that a list
# compares with one value: so a page is read off the index without a sort, however rare the value. A column behind
# those is compared within the index.
LISTING = (
    _index("runs_created_at_id", f"runs (created_at, id) WHERE {OF_ALL_RUNS}"),
    _index("runs_status_created_at", f"runs ({STATUS}, created_at, id) WHERE {OF_ANY_WORKFLOW}"),
    _index("runs_workflow_slug_created_at", "runs (workflow_slug, created_at, id, event_type)"),
    # Operators ask for the failures of one workflow: rare in a common workflow, and still one index.
    _index("runs_workflow_slug_status_created_at", f"runs (workflow_slug, {STATUS}, created_at, id)"),
    _index("runs_unusual_file_created_at", f"runs (workflow_file, created_at, id) WHERE {UNUSUAL_FILE}"),
    # Only the runs of workflows with several entries have a trigger.
    _index(
        "runs_trigger_created_at",
        "runs (trigger_id, created_at, id, workflow_slug) WHERE trigger_id IS NOT NULL",
    ),
    # The list of an event type and, with the last column, the volume, which reads nothing else.
    _index("runs_event_type_volume", "runs (event_type, created_at, id, source_event_id)"),
)

# The subjects of a run as rows, so that the runs of a subject are read in order off one index. The database
# keeps it by a trigger: whoever inserts a run, an earlier release or a bulk load included, cannot leave it out.
# The trigger and the first filling of the table read `subjects` by the same rule, that of `parse_subjects`.
READ_SUBJECTS = """CREATE OR REPLACE FUNCTION meridian_subjects(text) RETURNS jsonb
LANGUAGE plpgsql IMMUTABLE STRICT AS $$
BEGIN
  RETURN CASE jsonb_typeof($1::jsonb) WHEN 'object' THEN $1::jsonb ELSE '{}' END;
EXCEPTION WHEN data_exception THEN
  RETURN '{}'; -- not JSON: such a run belongs to no subject's list
END $$"""

INDEX_SUBJECTS = """CREATE OR REPLACE FUNCTION meridian_index_subjects() RETURNS trigger
LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
  INSERT INTO run_subjects (kind, subject_id, created_at, run_id)
  SELECT key, value #>> '{}', NEW.created_at, NEW.id
  FROM jsonb_each(meridian_subjects(NEW.subjects)) WHERE jsonb_typeof(value) = 'string'
  ON CONFLICT DO NOTHING;
  RETURN NULL;
END $$;
CREATE OR REPLACE TRIGGER runs_subjects_indexed AFTER INSERT ON runs
  FOR EACH ROW WHEN (NEW.subjects IS NOT NULL AND NEW.subjects <> '{}')
  EXECUTE FUNCTION meridian_index_subjects()"""

SUBJECTS = (
    Create(
        "table",
        "run_subjects",
        """CREATE TABLE IF NOT EXISTS run_subjects (
  kind TEXT NOT NULL,
  subject_id TEXT NOT NULL,
  created_at TEXT NOT NULL,
  run_id TEXT NOT NULL,
  PRIMARY KEY (kind, subject_id, created_at, run_id)
)""",
    ),
    Create(
        "trigger",
        "runs.runs_subjects_indexed",
        f"{READ_SUBJECTS};\n{INDEX_SUBJECTS}",
        sqlite="""CREATE TRIGGER IF NOT EXISTS runs_subjects_indexed AFTER INSERT ON runs
WHEN NEW.subjects IS NOT NULL AND NEW.subjects <> '{}'
BEGIN
  INSERT OR IGNORE INTO run_subjects (kind, subject_id, created_at, run_id)
  SELECT key, value, NEW.created_at, NEW.id
  FROM json_each(CASE WHEN json_valid(NEW.subjects) THEN NEW.subjects ELSE '{}' END)
  WHERE type = 'text' AND typeof(key) = 'text';
END""",
    ),
)

# The subjects of the runs that were there before the trigger.
INDEX_EARLIER_SUBJECTS = {
    "postgresql": """INSERT INTO run_subjects (kind, subject_id, created_at, run_id)
SELECT key, value #>> '{}', created_at, id
FROM runs CROSS JOIN LATERAL jsonb_each(meridian_subjects(subjects)) WHERE jsonb_typeof(value) = 'string'
ON CONFLICT DO NOTHING""",
    "sqlite": """INSERT OR IGNORE INTO run_subjects (kind, subject_id, created_at, run_id)
SELECT key, value, created_at, runs.id
FROM runs, json_each(CASE WHEN json_valid(subjects) THEN subjects ELSE '{}' END)
WHERE type = 'text' AND typeof(key) = 'text'""",
}

# Those that have no row yet. Writers wait for the lock, so a deployment fills most before it: in batches, by id.
INDEX_REMAINING_SUBJECTS = INDEX_EARLIER_SUBJECTS | {
    "postgresql": INDEX_EARLIER_SUBJECTS["postgresql"].replace(
        "ON CONFLICT",
        "AND NOT EXISTS (SELECT FROM run_subjects s WHERE s.run_id = runs.id)\nON CONFLICT",
    )
}
INDEX_SUBJECTS_OF_BATCH = """WITH batch AS (
  SELECT id, created_at, subjects FROM runs WHERE id > :after ORDER BY id LIMIT :limit
), written AS (INSERT INTO run_subjects (kind, subject_id, created_at, run_id)
  SELECT key, value #>> '{}', created_at, id
  FROM batch CROSS JOIN LATERAL jsonb_each(meridian_subjects(subjects)) WHERE jsonb_typeof(value) = 'string'
  ON CONFLICT DO NOTHING)
SELECT max(id) FROM batch"""
BATCH = 5_000

# The archive: what a run's snapshot was at its end. Apart from `runs`, so that no list ever loads it, and so
# that the retention of one does not slow the other.
SNAPSHOTS = (
    Create(
        "table",
        "run_snapshots",
        """CREATE TABLE IF NOT EXISTS run_snapshots (
  run_id TEXT PRIMARY KEY,
  snapshot TEXT NOT NULL,
  archived_at TEXT NOT NULL
)""",
    ),
)

RECENT_EVENTS = (
    Create(
        "table",
        "recent_events",
        """CREATE TABLE IF NOT EXISTS recent_events (
  id TEXT PRIMARY KEY,
  received_at TEXT NOT NULL,
  event_id TEXT,
  event_type TEXT,
  source TEXT,
  outcome TEXT NOT NULL,
  deliveries TEXT NOT NULL,
  problem TEXT
)""",
    ),
    _index("recent_events_received_at", "recent_events (received_at, id)"),
)


def _refuse_before_subjects(database: Database, present: Present) -> None:
    """An index that carried a `patient` column is not migrated: it is dropped and made anew."""
    if "column runs.patient" not in present:
        return
    how = f"rm {database.url.removeprefix('sqlite:')}" if database.dialect == "sqlite" else "DROP TABLE runs"
    refuse(
        "The run index was written before the subjects column (it has a patient column) and cannot be "
        f"migrated: drop it ({how}) and it is created again at the next start."
    )


def _index_most_subjects(database: Database, present: Present, remaining: Callable[[], float]) -> None:
    """Fills `run_subjects` while others write: batch by batch, each committed; from the first again when repeated."""
    if "column runs.subjects" not in present or "trigger runs.runs_subjects_indexed" in present:
        return
    database.execute(str(SUBJECTS[0].statement(database.dialect)))
    database.execute(READ_SUBJECTS)
    after: str | None = ""
    while after is not None:
        if remaining() <= 0:
            raise ConfigurationError("The subjects of earlier runs are still being indexed: deploy again to go on.")
        [(after,)] = database.execute(INDEX_SUBJECTS_OF_BATCH, {"after": after, "limit": BATCH})


def _index_subjects_of_earlier_rows(database: Database, present: Present) -> None:
    """Runs that were there before the trigger get their subjects, once, when it is made."""
    is_indexed = {"table run_subjects", "trigger runs.runs_subjects_indexed"} <= present
    if "table runs" in present and not is_indexed:
        database.execute(INDEX_REMAINING_SUBJECTS[database.dialect])


def parse_subjects(text: str | None) -> dict[str, str]:
    """The `subjects` column: `{kind: id}`; empty for what an earlier release left otherwise."""
    if not text:
        return {}
    try:
        value = jsontext.parse(text)
    except ValueError:
        return {}
    if not isinstance(value, dict):
        return {}
    return {str(kind): subject_id for kind, subject_id in value.items() if isinstance(subject_id, str)}


RUN_SCHEMA = Schema(
    name="run index",
    steps=(
        Create("table", "runs", DDL),
        *SNAPSHOTS,
        SUBJECTS[0],
        *MIGRATIONS,
        *LISTING,
        SUBJECTS[1],
        *RECENT_EVENTS,
    ),
    before=_refuse_before_subjects,
    after=_index_subjects_of_earlier_rows,
    ahead=_index_most_subjects,
)
