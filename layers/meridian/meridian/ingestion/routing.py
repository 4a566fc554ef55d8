"""What routes an event and what it started before, in one read."""

from typing import Protocol

from meridian.database import Create, Database, Schema
from meridian.definitions.sql_store import RECEIVING, VERSION_COLUMNS, published_version
from meridian.definitions.store import DefinitionStore, PublishedVersion
from meridian.ingestion.plan import run_id_of
from meridian.runs.model import EventRow
from meridian.runs.queries import event_rows_of
from meridian.runs.store import RunStore

Known = tuple[list[PublishedVersion], list[EventRow]]


class Routing(Protocol):
    """What the plan of a routed event needs. May raise `DatabaseUnavailable`."""

    def known(self, event_id: str, event_type: str) -> Known:
        """The active versions with an entry for `event_type`, and the event's rows, with those of its runs of each."""
        ...


class RoutingByTwoReads:
    """For a run index and definitions that are kept apart."""

    def __init__(self, runs: RunStore, definitions: DefinitionStore) -> None:
        self._runs = runs
        self._definitions = definitions

    def known(self, event_id: str, event_type: str) -> Known:
        receiving = self._definitions.receiving(event_type)
        return receiving, self._runs.event_rows(event_id, [run_id_of(event_id, each.slug) for each in receiving])


# A function of PostgreSQL, since it keeps the plans of its two statements for the connection, and a prepared statement
# would pin the connection behind a proxy: planning them takes longer than running them. Both see one snapshot.
# In each row either the columns of a version or those of a run are null. A function that changes gets another name:
# the release before goes on with its own.
_VERSION = "slug text, version integer, spec_hash text, published_at text, spec text"
_NO_VERSION = "NULL, NULL::integer, NULL, NULL, NULL"
_RUN = ", ".join(f"run_{name} text" for name in EventRow._fields)
_NO_RUN = ", ".join("NULL" for _ in EventRow._fields)
RECEIVING_OF_TYPE = RECEIVING.replace(":event_type", "$2")
ROWS_OF_EVENT = event_rows_of(
    f"= ANY(ARRAY(SELECT $1 || ':' || slug FROM ({RECEIVING_OF_TYPE}) AS receiving))"  # noqa: S608
).replace(":event_id", "$1")

ROUTING_SCHEMA = Schema(
    name="routing",
    steps=(
        Create(
            "function",
            "meridian_known",
            f"""CREATE OR REPLACE FUNCTION meridian_known(text, text)
RETURNS TABLE ({_VERSION}, {_RUN})
LANGUAGE plpgsql STABLE AS $$
#variable_conflict use_column
BEGIN
  RETURN QUERY SELECT receiving.*, {_NO_RUN} FROM ({RECEIVING_OF_TYPE}) AS receiving;
  RETURN QUERY SELECT {_NO_VERSION}, event_rows.* FROM ({ROWS_OF_EVENT} ORDER BY created_at, id) AS event_rows;
END $$""",  # noqa: S608
            sqlite="",
        ),
    ),
)
KNOWN = "SELECT * FROM meridian_known(:event_id, :event_type)"


class RoutingByOneRead:
    """For a run index and definitions in one PostgreSQL database, with `ROUTING_SCHEMA`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def known(self, event_id: str, event_type: str) -> Known:
        receiving, rows = [], []
        for row in self._database.execute(KNOWN, {"event_id": event_id, "event_type": event_type}):
            version, of_run = row[:VERSION_COLUMNS], row[VERSION_COLUMNS:]
            if version[0] is not None:
                receiving.append(published_version(version))
            else:
                rows.append(EventRow._make(of_run))
        return receiving, rows
