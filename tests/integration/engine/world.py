"""What the engine meets in these tests: services that answer by a script and remember what they were asked."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import Event
from typing import Any

from tests.integration.engine.lambda_service import Quiet, serving


@dataclass(frozen=True)
class Request:
    method: str
    path: str
    headers: dict[str, str]
    body: str


@dataclass
class Service:
    """An HTTP service: answers with `answers` in order, the last one again and again."""

    url: str = ""
    answers: list[tuple[int, str]] = field(default_factory=lambda: [(200, "{}")])
    requests: list[Request] = field(default_factory=list)
    arrived: Event = field(default_factory=Event)
    open: Event = field(default_factory=Event)  # answers are held back while it is not set
    content_type: str = "application/json"
    answer: Callable[[Request], tuple[int, str]] | None = None  # makes the answers in place of `answers`

    def __post_init__(self) -> None:
        self.open.set()

    def wait_for(self, count: int, seconds: float = 20) -> None:
        end = time.monotonic() + seconds
        while len(self.requests) < count:
            assert time.monotonic() < end, f"{len(self.requests)} of {count} requests"
            time.sleep(0.02)


@contextmanager
def service(*answers: tuple[int, str]) -> Iterator[Service]:
    told = Service()
    if answers:
        told.answers = list(answers)

    class Handler(Quiet):
        def do_POST(self) -> None:  # noqa: N802 - http.server's name
            headers = {name.lower(): value for name, value in self.headers.items()}
            request = Request(self.command, self.path, headers, self.body().decode())
            told.requests.append(request)
            told.arrived.set()
            told.open.wait()
            if told.answer is not None:
                status, body = told.answer(request)
            else:
                status, body = told.answers.pop(0) if len(told.answers) > 1 else told.answers[0]
            self.reply(status, body.encode(), {"content-type": told.content_type})

        do_GET = do_POST  # noqa: N815

    with serving(Handler) as url:
        told.url = url
        yield told


def run_input(run_id: str, nodes: list[dict[str, Any]], **changes: Any) -> dict[str, Any]:
    """What ingestion sends for a run of a definition with these nodes, from the first of them on."""
    slug = run_id.rpartition(":")[2]
    spec = {
        "name": slug,
        "entries": [{"id": "lab", "event": "observation.created"}],
        "start": nodes[0]["id"],
        "nodes": nodes,
    }
    return {
        "runId": run_id,
        "workflow": {"slug": slug, "name": slug, "file": f"{slug}.json", "version": 3, "hash": "h"},
        "spec": spec,
        "triggerId": None,
        "entry": None,
        "start": nodes[0]["id"],
        "event": {
            "eventId": run_id.rpartition(":")[0],
            "type": "observation.created",
            "source": "lab",
            "time": "2026-11-30T20:09:00Z",
            "subjects": {"patient": "p-42"},
            "data": {"code": "K", "value": 6.1},
        },
        "subjects": {"patient": "p-42"},
        "routeMatch": "selector",
        "receivedAt": "2026-11-30T20:09:00.123Z",
        **changes,
    }
