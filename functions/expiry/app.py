"""The schedule's expiry: removes the memory that has expired and the recent events that are old."""

from functools import cache
from typing import Any

from aws_lambda_powertools.utilities.typing import LambdaContext

from meridian.config import Settings
from meridian.database import ensure_schema
from meridian.ingestion.recent import RecentEvents
from meridian.memory.store import MemoryStore, open_memory_store
from meridian.observability import count, observed
from meridian.runs.schema import RUN_SCHEMA
from meridian.sweep import sweep

settings = Settings()
run_db_url, memory_url = settings.run_db_url, settings.memory_url


@cache
def memory() -> MemoryStore | None:
    """The store; None where no PostgreSQL is set, and so nothing is remembered."""
    if memory_url is None:
        return None
    return open_memory_store(settings.open_database(memory_url, "DEFINITION_STORE_URL"))


@cache
def recent_events() -> RecentEvents:
    database = settings.open_database(run_db_url, "RUN_DB_URL")
    ensure_schema(database, RUN_SCHEMA)
    return RecentEvents(database)


@observed
def handler(event: dict[str, Any], context: LambdaContext) -> dict[str, int]:
    """Removes what it can in its time. Safe to run again, and several at once."""
    store, remaining = memory(), context.get_remaining_time_in_millis
    expired = sweep(store.delete_expired, remaining) if store is not None else 0
    count("meridian.memory.expired", expired)
    trimmed = sweep(recent_events().trim, remaining)
    count("meridian.events.trimmed", trimmed)
    return {"memoryExpired": expired, "eventsTrimmed": trimmed}
