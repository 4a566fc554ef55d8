"""A run index of many rows, spread as a hospital's would be, for the tests of plans and the benchmarks.

60% of the runs are of one common workflow, a few are of rare ones, one workflow was retired long ago; 1% are live,
4% failed; a thousand share one millisecond. The rows are numbered from 0, the oldest.
"""

from meridian.database import AddColumn, Database, open_database
from meridian.runs.model import Position
from meridian.runs.schema import DDL, INDEX_EARLIER_SUBJECTS, MIGRATIONS, SUBJECTS
from meridian.runs.store import SqlRunStore, open_run_store

COMMON, SECOND, RETIRED, RARE = "potassium-alert", "admission", "paper-charts", "rare-3"
ENTRY = "lab"  # of one in ten of the common workflow's runs
COMMON_TYPE, RARE_TYPE = "observation.created", "rare-3.created"
PATIENT, WARD = ("patient", "p-77"), ("ward", "emergency")  # a subject of 20 runs, and one of every eleventh
RESTATE_URL = "https://restate.example"
SHARING = 1000  # runs of one millisecond, in the middle of the index
DAYS = 90

COLUMNS = (
    "id, service, workflow_name, event, created_at, final_status, workflow_file, updated_at, workflow_slug, "
    "spec_version, spec_hash, subjects, source_event_id, route_match, event_type, restate_url, journal_format, "
    "trigger_id"
)
ROWS = """
SELECT 'event-' || n || ':' || slug, 'meridianWorkflow', slug,
  :event, created_at,
  CASE WHEN n % 101 = 41 THEN NULL WHEN n % 23 = 11 THEN 'failed' ELSE 'completed' END,
  slug || '.json', created_at, slug, 3, '44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a',
  '{{"patient":"p-' || n % (:rows / 20) || CASE WHEN n % 11 = 0 THEN '","ward":"emergency"}}' ELSE '"}}' END,
  'event-' || n, 'selector',
  CASE slug WHEN 'potassium-alert' THEN 'observation.created' ELSE slug || '.created' END,
  'https://restate.example', 1, CASE WHEN slug = 'potassium-alert' AND n % 10 = 0 THEN 'lab' END
FROM (
  SELECT n, {created_at} AS created_at,
    CASE WHEN n % 2000 = 7 THEN 'rare-' || n / 2000 % 5
      WHEN n % 20 = 3 AND n < :rows / 3 THEN 'paper-charts'
      WHEN n % 5 < 3 THEN 'potassium-alert' ELSE 'admission' END AS slug
  FROM (SELECT n, CASE WHEN n BETWEEN :rows / 2 AND :rows / 2 + :sharing - 1 THEN :rows / 2 ELSE n END AS moment
    FROM {numbers}) AS numbers
) AS runs_to_be
"""
EVENT = '{"type":"observation.created","source":"lab","data":{"code":"K","value":6.10,"unit":"mmol/L"}}'
SERIES = {
    "postgresql": {
        "numbers": "generate_series(0, :rows - 1) AS n",
        "created_at": "to_char(timestamp '2026-11-30' - interval '90 days' * (:rows - moment) / :rows, "
        """'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')""",
    },
    "sqlite": {
        "numbers": "(WITH RECURSIVE series(n) AS "
        "(SELECT 0 UNION ALL SELECT n + 1 FROM series WHERE n < :rows - 1) SELECT n FROM series)",
        "created_at": "strftime('%Y-%m-%dT%H:%M:%fZ', "
        "unixepoch('2026-11-30') - 90 * 86400.0 * (:rows - moment) / :rows, 'unixepoch')",
    },
}


def populate(url: str, rows: int) -> SqlRunStore:
    """An index of `rows` runs in the empty database at `url`.

    It is filled as a restored backup is: bare tables first, then what looks after them, then the indexes.
    """
    database = open_database(url)
    database.execute(DDL)
    for step in MIGRATIONS:
        if isinstance(step, AddColumn) and step.column not in DDL:
            database.execute(step.statement(database.dialect))
    rows_sql = ROWS.format(**SERIES[database.dialect])
    parameters = {"rows": rows, "sharing": SHARING, "event": EVENT}
    database.execute(f"INSERT INTO runs ({COLUMNS}) {rows_sql}", parameters)
    if database.dialect == "postgresql":
        _fill_subjects(database)
        ((name,),) = database.execute("SELECT quote_ident(current_database())")
        database.execute(f"ALTER DATABASE {name} SET maintenance_work_mem = '512MB'")  # the indexes in half the time
    database.close()
    store = open_run_store(url)
    assert isinstance(store, SqlRunStore)
    # What autovacuum does in time: statistics, and the map of the pages whose rows all can see.
    store.database.execute("VACUUM ANALYZE" if database.dialect == "postgresql" else "ANALYZE")
    return store


def _fill_subjects(database: Database) -> None:
    """Two million rows go into a table without its key in a fifth of the time."""
    key = "PRIMARY KEY (kind, subject_id, created_at, run_id)"
    table, trigger = (step.statement("postgresql") for step in SUBJECTS)
    database.execute(table.replace(f",\n  {key}", ""))
    database.execute(trigger)
    database.execute(INDEX_EARLIER_SUBJECTS["postgresql"].replace("ON CONFLICT DO NOTHING", ""))
    database.execute(f"ALTER TABLE run_subjects ADD {key}")


def in_the_shared_instant(store: SqlRunStore) -> Position:
    """The middle of the runs of one millisecond."""
    (rows,) = store.database.execute(
        "SELECT created_at, id FROM runs WHERE created_at = (SELECT created_at FROM runs GROUP BY created_at "
        "HAVING COUNT(*) > 1) ORDER BY id LIMIT 1 OFFSET :half",
        {"half": SHARING // 2},
    )
    return Position(*rows)
