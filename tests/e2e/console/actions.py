"""What others do while somebody looks at the console: publish, send events, kill, stop Restate."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

import httpx
import psycopg

from local.waiting import wait_until
from tests.services.stack import RunningStack

ALERT: dict[str, Any] = {
    "name": "Potassium alert",
    "start": "assess",
    "nodes": [
        {"id": "assess", "type": "set", "values": {"value": "event.data.value"}, "next": "ask"},
        {
            "id": "ask",
            "type": "validation",
            "title": "Abnormal potassium",
            "message": "join(' ', ['Potassium', to_string(event.data.value)])",
            "outcomes": {"treated": "control", "dismissed": "done"},
        },
        {"id": "control", "type": "wait", "title": "Control sample", "next": "done"},
        {"id": "done", "type": "end", "output": "{value: nodes.assess.output.value}"},
    ],
}

ALLERGIES: dict[str, Any] = {
    "name": "Allergy record",
    "start": "keep",
    "nodes": [
        {
            "id": "keep",
            "type": "memory.write",
            "scope": "subject",
            "subject": "patient",
            "key": "'allergies-zq7'",
            "value": "event.data",
            "valueType": {"type": "object"},
            "typeName": "Allergies",
            "next": "last",
        },
        {
            "id": "last",
            "type": "memory.write",
            "scope": "workflow",
            "subject": "patient",
            "key": "'last-dose-zq7'",
            "value": "event.data.dose",
            "valueType": {"type": "number"},
            "typeName": "Dose",
            "retentionSeconds": 86400,
            "next": "done",
        },
        {"id": "done", "type": "end"},
    ],
}

_numbers = count(1)


@dataclass
class Actions:
    stack: RunningStack
    api: httpx.Client
    tag: str  # in every name, so that tests on one stack do not meet

    def publish(self, definition: dict[str, Any], slug: str, **changes: Any) -> str:
        """Publishes a definition that receives the events of its own type; the slug."""
        slug = f"{slug}-{self.tag}"
        entries = [{"id": "only", "event": self.event_type(slug)}]
        document = {**definition, "entries": entries, **changes}
        answer = self.api.post(f"/api/workflows/{slug}/versions", json=document)
        assert answer.status_code == 201, answer.text
        return slug

    def event_type(self, slug: str) -> str:
        return f"{slug}.created"

    def send(self, slug: str, *, patient: str = "p-42", **data: Any) -> str:
        """Sends an event that starts a run of the workflow; the run's id."""
        body = {
            "eventId": f"event{next(_numbers)}-{self.tag}",
            "type": self.event_type(slug),
            "source": "lab",
            "subjects": {"patient": patient},
            "data": data or {"value": 6.4},
        }
        answer = self.api.post("/api/events", json=body)
        assert answer.status_code == 202, answer.text
        return str(answer.json()["runs"][0]["runId"])

    def run(self, run_id: str) -> dict[str, Any]:
        answer: dict[str, Any] = self.api.get(f"/api/runs/{httpx.URL(path=run_id).path}").json()
        return answer

    def await_status(self, run_id: str, status: str) -> None:
        assert wait_until(lambda: self.run(run_id)["status"] == status, 20), self.run(run_id)["status"]

    def kill(self, run_id: str) -> None:
        """Ends the run's invocation as an operator of Restate does."""
        statement = (
            f"select id from sys_invocation where target_service_key = '{run_id}' and target_handler_name = 'run'"
        )
        admin = self.stack.restate_admin
        headers = {"accept": "application/json"}
        rows = httpx.post(f"{admin}/query", json={"query": statement}, headers=headers).json()["rows"]
        assert httpx.patch(f"{admin}/invocations/{rows[0]['id']}/kill").is_success

    @contextmanager
    def restate_stopped(self) -> Iterator[None]:
        """Restate does not answer inside the block, and goes on after it."""
        pid = self._restate_pid()
        os.kill(pid, signal.SIGSTOP)
        try:
            yield
        finally:
            os.kill(pid, signal.SIGCONT)

    @contextmanager
    def database_closed(self) -> Iterator[None]:
        """PostgreSQL ends every connection to the database, and refuses new ones, inside the block.

        Stopping the server itself would end the stack, which watches over it.
        """
        server = self.stack.run_db_url.rpartition("/")[0] + "/postgres"
        with psycopg.connect(server, autocommit=True) as connection:
            connection.execute("ALTER DATABASE meridian ALLOW_CONNECTIONS false")
            try:
                connection.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = 'meridian'")
                yield
            finally:
                connection.execute("ALTER DATABASE meridian ALLOW_CONNECTIONS true")

    def _restate_pid(self) -> int:
        """The process of this stack's server: the one that its data directory is named to."""
        folder = str(self.stack.data_dir).encode()
        for process in Path("/proc").iterdir():
            if not process.name.isdigit():
                continue
            try:
                command = (process / "cmdline").read_bytes().split(b"\0")
            except OSError:  # it has ended meanwhile
                continue
            if command[0].endswith(b"/restate-server") and any(folder in part for part in command):
                return int(process.name)
        raise AssertionError("the stack has no restate-server")

    def insert_ended_runs(self, slug: str, number: int) -> None:
        """Writes the rows of as many runs that ended yesterday, a second after each other."""
        statement = """
            INSERT INTO runs (id, service, workflow_name, workflow_file, workflow_slug, event, created_at, updated_at,
                              final_status, spec_version, subjects, source_event_id, route_match, event_type)
            SELECT 'bulk' || n || ':' || %(slug)s, 'meridianWorkflow', 'Bulk', %(slug)s || '.json', %(slug)s, '{}',
                   to_char(at, 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'), to_char(at, 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
                   CASE WHEN n %% 7 = 0 THEN 'failed' ELSE 'completed' END, 1,
                   '{"patient":"p-zq7-' || n || '"}', 'bulk' || n, 'unfiltered', %(slug)s || '.created'
            FROM generate_series(1, %(number)s) n,
                 LATERAL (SELECT (now() AT TIME ZONE 'UTC') - interval '1 day' - n * interval '1 second' AS at) t
        """
        with psycopg.connect(self.stack.run_db_url) as connection:
            connection.execute(statement, {"slug": slug, "number": number})
