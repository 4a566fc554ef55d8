"""What routes an event and what it started before, in one read."""

from typing import Protocol

from meridian.database import Database
from meridian.definitions.sql_store import RECEIVING_VERSIONS, VERSION_COLUMNS, published_version
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


# The two lists one below the other: in each row either the columns of a version or those of a run are null.
KNOWN = f"""
WITH receiving AS MATERIALIZED ({RECEIVING_VERSIONS})
SELECT receiving.*, event_rows.* FROM receiving
FULL JOIN ({event_rows_of("= ANY(ARRAY(SELECT :event_id || ':' || slug FROM receiving))")}) AS event_rows ON FALSE
ORDER BY receiving.slug, event_rows.created_at, event_rows.id
"""  # noqa: S608


class RoutingByOneRead:
    """For a run index and definitions in one PostgreSQL database: an event waits for one round trip less."""

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
