"""The sample events of events/, and what the built functions answer them beside a Restate and a PostgreSQL."""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tests.services.stack import ROOT

EVENTS = ROOT / "events"
RUN = "obs-7f3:potassium-alert"


@dataclass(frozen=True)
class Sample:
    """An event of events/, the function that takes it, and the least of what it answers.

    A request is answered with `status`, and `holds` is a part of the body's text. The answer of another event holds
    these items, or is None.
    """

    event: str
    function: str
    holds: str | Mapping[str, Any] | None
    status: int = 200

    def load(self) -> Any:
        return load(self.event)

    def check(self, answer: Any) -> None:
        """Asserts that this is the answer."""
        if isinstance(self.holds, str):
            assert answer["statusCode"] == self.status, (self.event, answer)
            assert self.holds in body_text(answer), (self.event, body_text(answer))
        elif self.holds is None:
            assert answer is None, (self.event, answer)
        else:
            assert self.holds.items() <= answer.items(), (self.event, answer)


def load(name: str) -> Any:
    return json.loads((EVENTS / f"{name}.json").read_text())


def body_text(answer: Mapping[str, Any]) -> str:
    body = str(answer["body"])
    if not answer.get("isBase64Encoded"):
        return body
    content = base64.b64decode(body)
    return (gzip.decompress(content) if answer["headers"].get("Content-Encoding") == "gzip" else content).decode()


SAMPLES = (
    Sample("migrate-plain", "MigrateFunction", {"indexesBuilt": []}),
    Sample("engine", "EngineFunction", '"name": "meridianWorkflow"'),
    Sample("workflows-publish", "WorkflowsFunction", '"slug":"greeting","version":1', 201),
    Sample("workflows-list", "WorkflowsFunction", '"slug":"greeting"'),
    Sample("workflows-detail", "WorkflowsFunction", '"activeVersion":1'),
    Sample("workflows-version", "WorkflowsFunction", '"version":1'),
    Sample("workflows-activate", "WorkflowsFunction", '"activeVersion":1'),
    Sample("ingestion-post", "IngestionFunction", f'"runId":"{RUN}"', 202),
    Sample("ingestion-cloud-event", "IngestionFunction", '"created":true', 202),
    Sample("ingestion-cloud-event-binary", "IngestionFunction", '"created":true', 202),
    Sample("ingestion-messages", "IngestionFunction", {"batchItemFailures": []}),
    Sample("ingestion-recent", "IngestionFunction", '"eventId":"obs-b01"'),
    Sample("ingestion-volume", "IngestionFunction", '"total":4'),
    Sample("follow-up-messages", "FollowUpFunction", {"batchItemFailures": []}),
    Sample("settlement-tick", "SettlementFunction", {"ran": True, "finished": True}),
    Sample("runs-list", "RunsFunction", f'"id":"{RUN}"'),
    Sample("runs-detail", "RunsFunction", '"status":"suspended"'),
    Sample("runs-openapi", "RunsFunction", '"openapi": "3.1.0"'),
    Sample("runs-health", "RunsFunction", '"status":"ok"'),
    Sample("runs-readiness", "RunsFunction", '"status":"ready"'),
    Sample("runs-decide", "RunsFunction", "The run does not wait for this decision.", 409),
    Sample("runs-resume", "RunsFunction", "The run does not wait at this node.", 409),
    Sample("runs-decision-feed", "RunsFunction", '"result":"rejected"'),
    Sample("memory-write", "MemoryFunction", '"version":'),
    Sample("memory-read", "MemoryFunction", '"value":6.10'),
    Sample("memory-list", "MemoryFunction", '"value":6.10'),
    Sample("memory-forget", "MemoryFunction", '"forgotten":true'),
    Sample("memory-forget-by-hand", "MemoryFunction", '"forgotten":0'),
    Sample("memory-forget-subject", "MemoryFunction", '"forgotten":1'),
    Sample("expiry-schedule", "ExpiryFunction", {"memoryExpired": 0, "eventsTrimmed": 0}),
    Sample("console-home", "ConsoleFunction", "", 302),
    Sample("console-page", "ConsoleFunction", "<!doctype html>"),
    Sample("migrate-deletion", "MigrateFunction", None),
)
"""In an order in which each finds what it names. The run waits at another node than the signals name."""
