"""Ingestion's parts on one database and one Restate, and events for it."""

import os
from itertools import count
from typing import Any

import httpx

from local.restate import RestateServer
from local.waiting import wait_until
from meridian.clock import now
from meridian.database import ensure_schema, open_database
from meridian.definitions.sql_store import DEFINITION_SCHEMA, SqlDefinitionStore
from meridian.definitions.store import PublishedVersion
from meridian.definitions.validation import problems
from meridian.ingestion.event import Event, Target
from meridian.ingestion.recent import RecentEvents
from meridian.ingestion.routing import ROUTING_SCHEMA, RoutingByOneRead
from meridian.ingestion.service import Ingestor
from meridian.restate.ingress import Ingress
from meridian.runs.model import RunFilter
from meridian.runs.schema import RUN_SCHEMA
from meridian.runs.store import SqlRunStore

_numbers = count(1)


def definition(name: str = "Workflow", event: str = "observation.created") -> dict[str, Any]:
    return {
        "name": name,
        "entries": [{"id": "lab", "event": event}],
        "start": "done",
        "nodes": [{"id": "done", "type": "end"}],
    }


class Control:
    """The control plane's parts on one database and one Restate."""

    def __init__(self, database_url: str, ingress_url: str) -> None:
        self.database = open_database(database_url)
        ensure_schema(self.database, RUN_SCHEMA, DEFINITION_SCHEMA, ROUTING_SCHEMA)
        self.runs = SqlRunStore(self.database)
        self.definitions = SqlDefinitionStore(self.database)
        self.recent = RecentEvents(self.database)
        self.ingress = Ingress(ingress_url)
        self.ingestor = Ingestor(
            self.runs,
            self.definitions,
            self.recent,
            self.ingress,
            check=problems,
            routing=RoutingByOneRead(self.database),
        )

    def publish(self, slug: str, document: dict[str, Any], *, activate: bool) -> PublishedVersion:
        """Publishes a version before whatever comes next: anteriority compares milliseconds."""
        published = self.definitions.publish(slug, document, activate=activate)
        assert wait_until(lambda: now() > published.published_at, seconds=1, pause=0.001)
        return published

    def event_runs(self, event: Event) -> list[str]:
        return sorted(run.id for run in self.runs.find(RunFilter(event=event.id), None, 100))

    def close(self) -> None:
        self.database.close()
        self.ingress.close()


def an_event(target: Target | None = None, event_type: str = "observation.created") -> Event:
    event_id = f"ev-{os.getpid()}-{next(_numbers)}"
    return Event(event_id, event_type, "lab", None, {"patient": "p-42"}, {"code": "K"}, target)


def started_in_restate(server: RestateServer, event: Event) -> int:
    query = f"select count(*) as n from sys_invocation where target_service_key like '{event.id}:%'"
    answer = httpx.post(f"{server.admin_url}/query", json={"query": query}, headers={"accept": "application/json"})
    return int(answer.json()["rows"][0]["n"])


def reasons(control: Control, event: Event) -> dict[str, str]:
    return {str(result.workflow): result.reason for result in control.ingestor.ingest(event).results}
