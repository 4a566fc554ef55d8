"""Ingestion of one event with one delivery, against the bare `run/send` and one insert."""

from __future__ import annotations

import json
import os
import time
from statistics import median
from types import ModuleType
from typing import Any

import httpx
import psycopg

from tests.benchmarks.rows import Row, row
from tests.services.functions import Context, imported

EVENTS = 200
POST: dict[str, Any] = {
    "version": "2.0",
    "routeKey": "POST /api/events",
    "rawPath": "/api/events",
    "rawQueryString": "",
    "headers": {"content-type": "application/json"},
    "requestContext": {
        "requestId": "bench",
        "stage": "$default",
        "http": {"method": "POST", "path": "/api/events", "protocol": "HTTP/1.1", "sourceIp": "127.0.0.1"},
    },
    "isBase64Encoded": False,
}
DOCUMENT: dict[str, Any] = {
    "name": "Bench",
    "entries": [{"id": "lab", "event": "bench.event", "selector": "event.data.code == 'K'"}],
    "start": "done",
    "nodes": [{"id": "done", "type": "end"}],
}
BARE_INSERT = """
INSERT INTO bare (id, service, workflow_name, event, created_at, updated_at, workflow_file, workflow_slug,
  spec_version, spec_hash, subjects, source_event_id, route_match, event_type, restate_url, journal_format)
VALUES (%s, 'meridianWorkflow', 'Bench', %s, %s, %s, 'bench.json', 'bench', 1, 'hash', %s, %s, 'selector',
  'bench.event', 'http://restate', 1)
"""


def run(database_url: str, ingress_url: str) -> list[Row]:
    """Seconds per event of the function's handler; the two are taken in turn, so both meet the same machine."""
    os.environ.update(RUN_DB_URL=database_url, RESTATE_URL=ingress_url, LOG_LEVEL="WARNING")
    function = imported("ingestion")
    function.wiring.run_database.execute("CREATE TABLE bare (LIKE runs INCLUDING ALL)")
    function.wiring.definitions.publish("bench", DOCUMENT, activate=True)
    ours, bare = [], []
    with (
        httpx.Client(base_url=ingress_url) as client,
        psycopg.connect(database_url, autocommit=True, prepare_threshold=None) as connection,
    ):
        for number in range(EVENTS):
            ours.append(_timed(lambda name: _handle(function, name), f"ours-{os.getpid()}-{number}"))
            bare.append(_timed(lambda name: _bare(client, connection, name), f"bare-{os.getpid()}-{number}"))
    function.wiring.run_database.close()
    return [row("ingestion of one event with one delivery", median(ours), median(bare), 1.5)]


def _timed(work: Any, name: str) -> float:
    began = time.perf_counter()
    work(name)
    return time.perf_counter() - began


def _body(name: str) -> bytes:
    event = {"eventId": name, "type": "bench.event", "subjects": {"patient": "p-1"}, "data": {"code": "K"}}
    return json.dumps(event).encode()


def _handle(function: ModuleType, name: str) -> None:
    answer = function.handler(POST | {"body": _body(name).decode()}, Context())
    assert answer["statusCode"] == 202, answer


def _bare(client: httpx.Client, connection: psycopg.Connection[Any], name: str) -> None:
    key = f"{name}:bench"
    run_input = {
        "runId": key,
        "workflow": {"slug": "bench", "name": "Bench", "file": "bench.json", "version": 1, "hash": "hash"},
        "spec": DOCUMENT,
        "event": json.loads(_body(name)),
    }
    client.post(f"/meridianWorkflow/{key}/run/send", json=run_input).raise_for_status()
    now = "2026-11-30T00:00:00.000Z"
    connection.execute(BARE_INSERT, [key, _body(name).decode(), now, now, '{"patient": "p-1"}', name])
