"""The SQL of workflow memory, each operation one atomic statement, by the clock of the database.

*Turns.* Before a write draws its version it takes the turn of its address, an advisory lock that its commit gives
back. Without it, a writer that drew version 5 could wait while another one writes version 6 and a third forgets
it, and then insert 5: versions would go down. The statement's snapshot is older than its turn; so it decides on the
row that it changes, which PostgreSQL reads anew once it has locked it.

*Time.* `written_at` is when the statement began. What has expired is asked of the clock when the row is met, which
may be after a wait.

*Refusals.* A statement that returns no row was refused, and `CURRENT` then tells by what.

*Retries.* Every statement may be sent again after an answer was lost. The item that the first try wrote carries
`written_by`; what finds it there, from the same run and node path, is the retry. A node that a loop visits again
has another path. What a retry cannot see is an item that somebody else has replaced or removed since: then it is
an operation like any other, and its condition decides.
"""

# ruff: noqa: S608 - the text is composed of the constants below; values are parameters

from meridian.memory.model import Address

ADDRESS = ", ".join(Address._fields)
_PARAMETERS = ", ".join(f":{field}" for field in Address._fields)
_AT_ADDRESS = " AND ".join(f"item.{field} = :{field}" for field in Address._fields)


_LIVE = "COALESCE(item.expires_at, 'infinity') > clock_timestamp()"

ITEM = f"{ADDRESS}, type::text, type_name, value, version, written_at, expires_at, written_by::text"
READ = f"SELECT {ITEM} FROM workflow_memory AS item WHERE {_AT_ADDRESS} AND {_LIVE}"

# What a refused statement met, and who wrote it.
CURRENT = f"""
SELECT version, expires_at, written_by ->> 'run', written_by ->> 'node'
FROM workflow_memory AS item WHERE {_AT_ADDRESS} AND {_LIVE}
"""

# The two numbers of the lock are apart from the one-number locks of the schemas. Two addresses of one hash only
# wait for each other. CASE, alone among expressions, says what comes first: the turn, then the version.
_NEXT_VERSION = f"""
  CASE WHEN pg_advisory_xact_lock(1936289383, hashtext(ARRAY[{_PARAMETERS}]::text)) IS NOT NULL
    THEN nextval('workflow_memory_version_seq') END"""

_UPSERT = f"""
INSERT INTO workflow_memory AS item
  ({ADDRESS}, type, type_name, value, written_at, expires_at, written_by, version)
VALUES ({_PARAMETERS}, :type, :type_name, :value, now(), now() + :retention, :written_by, {_NEXT_VERSION})
ON CONFLICT ({ADDRESS}) DO UPDATE SET
  type = EXCLUDED.type, type_name = EXCLUDED.type_name, value = EXCLUDED.value, version = EXCLUDED.version,
  written_at = EXCLUDED.written_at, expires_at = EXCLUDED.expires_at, written_by = EXCLUDED.written_by
WHERE {{condition}}
RETURNING version, expires_at
"""

# Whatever is there is replaced, except by the retry of the write that put it there:
#
#   try 1   takes the turn, writes version 5, commits; its answer is lost
#   try 2   takes the turn, finds 5: live, and the same in every part                  -> refused, answers 5
#
#   run A   takes the turn, writes 5
#   run B   waits for the turn, draws 6, finds 5 by another run                        -> replaces it, answers 6
#
# A caller that names one visit for two values is no retry: the second value is written.
WRITE = _UPSERT.format(
    condition="""(
  item.written_by = EXCLUDED.written_by AND item.value = EXCLUDED.value AND item.type = EXCLUDED.type
  AND item.expires_at = item.written_at + :retention AND item.expires_at > clock_timestamp()
) IS NOT TRUE"""
)

# expectedVersion 0: only where nothing is. An expired row is nothing, and is written over.
#
#   run A   takes the turn, finds no row, inserts 5, commits
#   run B   waits for the turn, draws 6; its INSERT meets 5, which its snapshot
#           does not show, and ON CONFLICT locks it: live                              -> refused, conflict with 5
#   try 2   of run A finds 5, by the same run and node                                 -> refused, answers 5
WRITE_IF_ABSENT = _UPSERT.format(condition=f"NOT ({_LIVE})")

# expectedVersion n: only over that very version. Versions are never reused, so n at the address is the item that
# the caller has read.
#
#   run A   expects 5, finds 5 live, takes the turn, draws 6, commits
#   run B   expects 5, finds 5 in its snapshot, waits for the turn, draws 7; its
#           UPDATE follows the row to 6 and decides anew                               -> refused, conflict with 6
#   try 2   of run A expects 5, finds 6, by the same run and node                      -> refused, answers 6
#   run C   expects 5, which has expired (its row waits for the sweep) or is gone      -> refused, conflict with 0
WRITE_IF_VERSION = f"""
UPDATE workflow_memory AS item SET
  type = :type, type_name = :type_name, value = :value, version = {_NEXT_VERSION},
  written_at = now(), expires_at = now() + :retention, written_by = :written_by
WHERE {_AT_ADDRESS} AND item.version = :expected_version AND {_LIVE}
RETURNING item.version, item.expires_at
"""

# Unconditional, or version n alone. An expired row is removed on the way, and does not count as forgotten.
#
#   run A   expects 5, finds 5, deletes it, commits; its answer is lost
#   try 2   finds no row                                                               -> nothing to forget
#   run B   has written 6 in between: try 2 finds 6                                    -> refused, conflict with 6
#
# "Nothing is there" needs no conflict even where n never was: n cannot come back, so what was asked for holds.
# Whether this call or an earlier try removed it is not known, and `forgotten` claims only what this call did.
# It draws no version and needs no turn: a write that it meets is waited for, and its row looked at anew.
FORGET = f"""
DELETE FROM workflow_memory AS item
WHERE {_AT_ADDRESS} AND (
  :expected_version::bigint IS NULL OR item.version = :expected_version::bigint OR NOT ({_LIVE})
)
RETURNING {_LIVE}
"""

# All of one subject, expired rows too; `live` ones are counted. In the order of the primary key, so that two of
# them never wait for each other in a circle. An item written meanwhile stays: it is younger than the call.
FORGET_SUBJECT = f"""
WITH doomed AS MATERIALIZED (
  SELECT {ADDRESS}, {_LIVE} AS live FROM workflow_memory AS item
  WHERE subject_kind = :subject_kind AND subject_id = :subject_id
  ORDER BY {ADDRESS} FOR UPDATE
), forgotten AS (
  DELETE FROM workflow_memory AS item USING doomed
  WHERE {" AND ".join(f"item.{field} = doomed.{field}" for field in Address._fields)}
  RETURNING doomed.live
)
SELECT count(*) FILTER (WHERE live) FROM forgotten
"""

# A page in the order of the primary key, read off its index. It ends after `limit` items, or once the items
# before one fill `bytes`: an answer of Lambda's is bounded. `found` tells whether anything was cut.
_SIZE = " + ".join(
    f"octet_length({column})" for column in (*Address._fields, "type::text", "type_name", "value", "written_by::text")
)
LIST = f"""
SELECT {ITEM}, found FROM (
  SELECT *, count(*) OVER () AS found,
    sum(size) OVER (ORDER BY scope, workflow, key ROWS UNBOUNDED PRECEDING) - size AS bytes_before
  FROM (
    SELECT *, {_SIZE} AS size FROM workflow_memory AS item
    WHERE subject_kind = :subject_kind AND subject_id = :subject_id AND {_LIVE} {{filters}}
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
