"""The sample workflows published, sample events sent, and what their runs came to, for a person to read."""

from __future__ import annotations

import json
from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx

from local.settings import ROOT
from local.terminal import BOLD, DIM, GREEN, RED, YELLOW, Terminal
from local.waiting import wait_until

WORKFLOWS = ROOT / "workflows"
# The last finds what the one before it remembered.
EVENTS = ("admission.json", "potassium-normal.json", "potassium.json")
EVENT_FOLDER = ROOT / "events" / "samples"

RUN_SECONDS = 30
AT_WORK = ("running", "unknown")
COLOURS = {"completed": GREEN, "failed": RED, "suspended": YELLOW, "waiting": YELLOW}
MARKS = {"completed": "✓", "failed": "✗", "suspended": "?", "waiting": "…", "running": "…"}


class DemoFailed(Exception):
    """The API answered the demonstration otherwise than it should; the message says what."""


class Demo:
    """Talks to the public API as anybody would."""

    def __init__(self, api: str, terminal: Terminal) -> None:
        self._api = api
        self._terminal = terminal
        self._client = httpx.Client(base_url=api, timeout=60)

    def show(self) -> None:
        """Publishes, sends and shows. Raises `DemoFailed`."""
        with self._client:
            for file in sorted(WORKFLOWS.glob("*.json")):
                self._publish(file)
            for name in EVENTS:
                self._send(EVENT_FOLDER / name)

    def _publish(self, file: Path) -> None:
        """Publishes a workflow unless its active version is the same already."""
        slug, document = file.stem, _parse(file.read_bytes())
        known = self._client.get(f"/api/workflows/{slug}")
        if known.is_success and _parse(known.content)["spec"] == document:
            return
        answer = self._client.post(f"/api/workflows/{slug}/versions", content=file.read_bytes(), headers=JSON)
        published = self._expect(answer, f"publish {slug}")
        self._terminal.say(f"  Published {published['name']}, version {published['version']}")

    def _send(self, file: Path) -> None:
        """Sends an event. Sent at an earlier start it is a duplicate, and its run of then is shown."""
        event = _parse(file.read_bytes())
        posted = self._client.post("/api/events", content=file.read_bytes(), headers=JSON)
        answer = self._expect(posted, "send an event")
        say, style = self._terminal.say, self._terminal.style
        say(f"\n  {style('Sample event', DIM)}  {event['type']} from {event['source']}, id {event['eventId']}")
        for run in answer["runs"]:
            known = run["reason"] == "duplicate"
            said = "was sent before, and starts nothing twice; its run of" if known else "starts"
            say(f"  {said} {style(run['workflowName'], BOLD)}")
            self._show_run(run["runId"])

    def _show_run(self, run_id: str) -> None:
        """Waits until the run rests, and shows its nodes and its result."""
        found: dict[str, Any] = {}

        def rests() -> bool:
            found.update(self._expect(self._client.get(f"/api/runs/{quote(run_id, safe='')}"), "read a run"))
            return found["status"] not in AT_WORK

        wait_until(rests, RUN_SECONDS, pause=0.2)
        say, style = self._terminal.say, self._terminal.style
        titles = {node["id"]: node.get("title") or node["id"] for node in found["spec"]["nodes"]}
        snapshot, status = found["snapshot"], found["status"]
        for visit in snapshot["trace"]:
            say(f"    {style(MARKS[visit['status']], COLOURS.get(visit['status'], DIM))} {titles[visit['node']]}")
        resting = snapshot["pending"] or snapshot["waiting"]
        if resting:
            say(f"    {style(MARKS[status], COLOURS[status])} {titles[resting['node']]}")
        say(f"    {style(status, COLOURS.get(status, DIM))}, run {run_id}")
        if status == "completed":
            self._show_result(snapshot["trace"][-1]["output"])
        elif status == "failed":
            say(f"    {snapshot['error']['reason']}")
        elif snapshot["pending"]:
            self._show_pending(run_id, snapshot["pending"])

    def _show_result(self, output: Any) -> None:
        """An object's members one a line, in columns; another value as JSON."""
        say = self._terminal.say
        if not isinstance(output, Mapping):
            say(f"    result: {_shown(output)}")
            return
        say("    result:")
        width = max(map(len, output), default=0)
        for name, value in output.items():
            say(f"      {name:<{width}}  {_shown(value)}")

    def _show_pending(self, run_id: str, pending: Mapping[str, Any]) -> None:
        """What is asked of a person, and how to answer it."""
        say, style = self._terminal.say, self._terminal.style
        question = pending.get("message") or pending["title"]
        say(f"    asks: {question} — {', '.join(pending['outcomes'])}?")
        say("    to decide:")
        body = json.dumps({"outcome": pending["outcomes"][0], "by": "you"})
        address = f"{self._api}/api/decide/{run_id}/{pending['id']}"
        say(style(f"      curl {address} -H 'Content-Type: application/json' -d '{body}'", DIM))

    def _expect(self, answer: httpx.Response, what: str) -> Any:
        if answer.is_success:
            return _parse(answer.content)
        detail = answer.json().get("detail") or answer.json().get("message") or ""
        raise DemoFailed(f"The sample could not {what}: {answer.status_code} {detail}")


JSON = {"Content-Type": "application/json"}


def _parse(text: bytes) -> Any:
    """JSON whose numbers keep their digits, so that 6.10 is shown so."""
    return json.loads(text, parse_float=Decimal)


def _shown(value: Any) -> str:
    """A value as a person would write it."""
    if value is None:
        return "none"
    if isinstance(value, list):
        return ", ".join(map(_shown, value)) or "none"
    if isinstance(value, str | Decimal):
        return str(value)
    return json.dumps(value, ensure_ascii=False, default=str)
