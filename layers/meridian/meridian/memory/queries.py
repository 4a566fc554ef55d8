"""The SQL of workflow memory, each operation one atomic statement, by the clock of the database.

Four things hold for all statements that change an item:

*Turns.* A statement first takes the turn of its address: an advisory lock that its commit gives back. The version
and the time are drawn after that. Without the turn, a writer that drew version 5 could wait while another one
writes version 6 and a third forgets it, and then insert 5: versions would go down. The statement's snapshot is
older than its turn; that is why each decides on the row that it locks, which PostgreSQL reads anew, and never on
what a plain subquery sees.

*One instant.* `moment` decides for the whole statement what has expired, and is what `written_at` becomes.

*Refused writes answer too.* A refused write keeps the row by writing the same columns again, so that the row which
it returns is the one that refused it. A second statement could find it gone, and answer a conflict with nothing.

*Retries.* Every statement may be sent again after an answer was lost. The item that the first try wrote carries
`written_by`; the one that finds it there, from the same run and node path, is the retry and is answered with
its version. A node that a loop visits again has another path. What the retry cannot see is an item that somebody
else has replaced or removed since: then it is a write like any other, and its condition decides.
"""

# ruff: noqa: S608 - the text is composed of the constants below; values are parameters

from meridian.memory.model import Address

ADDRESS = ", ".join(Address._fields)
_PARAMETERS = ", ".join(f":{field}" for field in Address._fields)
_AT_ADDRESS = " AND ".join(f"item.{field} = :{field}" for field in Address._fields)

ITEM = f"{ADDRESS}, type::text, type_name, value, version, written_at, expires_at, written_by::text"

# The two numbers of the lock are apart from the one-number locks of the schemas. Two addresses of one hash only
# wait for each other.
_TURN = f"""
turn AS MATERIALIZED (
  SELECT clock_timestamp() AS moment
  FROM (SELECT pg_advisory_xact_lock(1936289383, hashtext(ARRAY[{_PARAMETERS}]::text))) AS taken
)"""

_FRESH = f"""{_TURN}, fresh AS MATERIALIZED (
  SELECT :type::jsonb AS type, :type_name AS type_name, :value AS value,
    nextval('workflow_memory_version_seq') AS version, moment AS written_at, moment + :retention AS expires_at,
    :written_by::jsonb AS written_by
  FROM turn
)"""

_WRITTEN = ("type", "type_name", "value", "version", "written_at", "expires_at", "written_by")
_BY_THE_SAME_VISIT = "item.written_by ->> 'run' = :run AND item.written_by ->> 'node' = :node"


def _live(moment: str) -> str:
    return f"COALESCE(item.expires_at, 'infinity') > {moment}"


def _keep(condition: str, new: str) -> str:
    """SET clauses that leave the item as it is where `condition` holds, else replace it by the row `new`."""
    cases = (f"{name} = CASE WHEN {condition} THEN item.{name} ELSE {new}.{name} END" for name in _WRITTEN)
    return ",\n  ".join(cases)


def _upsert(keep: str) -> str:
    return f"""
WITH {_FRESH}
INSERT INTO workflow_memory AS item ({ADDRESS}, {", ".join(_WRITTEN)})
SELECT {_PARAMETERS}, {", ".join(_WRITTEN)} FROM fresh
ON CONFLICT ({ADDRESS}) DO UPDATE SET
  {_keep(keep, "EXCLUDED")}
RETURNING version, expires_at, true AS live, {_BY_THE_SAME_VISIT} AS ours
"""


READ = f"SELECT {ITEM} FROM workflow_memory AS item WHERE {_AT_ADDRESS} AND {_live('now()')}"

# Whatever is there is replaced, except by the retry of the write that put it there:
#
#   try 1   takes the turn, writes version 5, commits; its answer is lost
#   try 2   takes the turn, finds 5: live, same run and node, the same in every part  -> keeps it, answers 5
#
#   run A   takes the turn, writes 5
#   run B   waits for the turn, draws 6, finds 5 by another run                       -> replaces it, answers 6
#
# A caller that names one visit for two values is no retry: the second value is written.
WRITE = _upsert(
    f"{_live('EXCLUDED.written_at')} AND {_BY_THE_SAME_VISIT} "
    "AND item.value = EXCLUDED.value AND item.type = EXCLUDED.type AND item.type_name = EXCLUDED.type_name "
    "AND item.expires_at - item.written_at = EXCLUDED.expires_at - EXCLUDED.written_at"
)

# expectedVersion 0: only where nothing is. An expired row is nothing, and is written over.
#
#   run A   takes the turn, finds no row, inserts 5, commits
#   run B   waits for the turn, draws 6; its INSERT meets 5, which its snapshot
#           does not show, and ON CONFLICT locks it: live, by another run              -> keeps it, conflict with 5
#   try 2   of run A finds 5, by the same run and node                                 -> keeps it, answers 5
WRITE_IF_ABSENT = _upsert(_live("EXCLUDED.written_at"))

# expectedVersion n: only over that very version. Versions are never reused, so n at the address is the item that
# the caller has read.
#
#   run A   expects 5, takes the turn, finds 5 live, draws 6, commits
#   run B   expects 5, waits for the turn; its snapshot shows 5, its UPDATE waits for
#           nobody, follows the row to 6 and decides anew                              -> keeps it, conflict with 6
#   try 2   of run A expects 5, finds 6, by the same run and node                      -> keeps it, answers 6
#   run C   expects 5, which has expired (its row waits for the sweep) or is gone      -> conflict with 0
WRITE_IF_VERSION = f"""
WITH {_FRESH}
UPDATE workflow_memory AS item SET
  {_keep(f"NOT (item.version = :expected_version AND {_live('fresh.written_at')})", "fresh")}
FROM fresh
WHERE {_AT_ADDRESS}
RETURNING item.version, item.expires_at, {_live("fresh.written_at")} AS live, {_BY_THE_SAME_VISIT} AS ours
"""

# Unconditional, or version n alone. An expired row is removed on the way, and does not count as forgotten.
#
#   run A   expects 5, takes the turn, locks 5, deletes it, commits; its answer is lost
#   try 2   finds no row                                                               -> nothing to forget
#   run B   has written 6 in between: try 2 finds 6                                    -> conflict with 6
#
# "Nothing is there" needs no conflict even where n never was: n cannot come back, so what was asked for holds.
# Whether this call or an earlier try removed it is not known, and `forgotten` claims only what this call did.
FORGET = f"""
WITH {_TURN}, current AS MATERIALIZED (
  SELECT item.version, {_live("turn.moment")} AS live
  FROM workflow_memory AS item, turn WHERE {_AT_ADDRESS} FOR UPDATE OF item
), forgotten AS (
  DELETE FROM workflow_memory AS item USING current
  WHERE {_AT_ADDRESS} AND (
    NOT current.live OR :expected_version::bigint IS NULL OR current.version = :expected_version::bigint
  )
  RETURNING item.version
)
SELECT current.version, current.live, EXISTS (SELECT FROM forgotten) AS removed FROM current
"""

# All of one subject, expired rows too; `live` ones are counted. In the order of the primary key, so that two of
# them never wait for each other in a circle. An item written meanwhile stays: it is younger than the call.
FORGET_SUBJECT = f"""
WITH doomed AS MATERIALIZED (
  SELECT {ADDRESS}, {_live("now()")} AS live FROM workflow_memory AS item
  WHERE subject_kind = :subject_kind AND subject_id = :subject_id
  ORDER BY {ADDRESS} FOR UPDATE
), forgotten AS (
  DELETE FROM workflow_memory AS item USING doomed
  WHERE {" AND ".join(f"item.{field} = doomed.{field}" for field in Address._fields)}
  RETURNING doomed.live
)
SELECT count(*) FILTER (WHERE live) FROM forgotten
"""

# A page in the order of the primary key, read off its index. It ends after `limit` items, or once the values
# before an item fill `bytes`: an answer of Lambda's is bounded. `found` tells whether anything was cut.
LIST = f"""
SELECT {ITEM}, found FROM (
  SELECT *, count(*) OVER () AS found,
    sum(octet_length(value)) OVER (ORDER BY scope, workflow, key ROWS UNBOUNDED PRECEDING)
      - octet_length(value) AS bytes_before
  FROM (
    SELECT * FROM workflow_memory AS item
    WHERE subject_kind = :subject_kind AND subject_id = :subject_id AND {_live("now()")} {{filters}}
    ORDER BY scope, workflow, key LIMIT :limit + 1
  ) AS page
) AS measured
WHERE bytes_before < :bytes ORDER BY scope, workflow, key LIMIT :limit
"""
OF_SCOPE = "AND scope = :scope"
OF_WORKFLOW = "AND workflow = :workflow"
AFTER = "AND (scope, workflow, key) > (:after_scope, :after_workflow, :after_key)"

# Batches of the sweep. Rows that another sweep, a writer or a forget holds are skipped: whoever holds them removes
# them or makes them fresh, and what stays is found next time. So nobody waits for a sweep for longer than a batch.
DELETE_EXPIRED = """
DELETE FROM workflow_memory WHERE ctid = ANY(ARRAY(
  SELECT ctid FROM workflow_memory WHERE expires_at <= now()
  ORDER BY expires_at LIMIT :limit FOR UPDATE SKIP LOCKED
))
"""
