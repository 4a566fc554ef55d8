"""Takes the pictures of the console in `docs/screenshots`, on a stack of their own with the sample workflows.

Run by `make screenshots`. Each page is taken once; the run, on which most is to be seen, also dark, in French and
on a phone.
"""

from __future__ import annotations

import base64
import json
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
from playwright.sync_api import Browser

from local.waiting import wait_until
from tests.services.browser import CONTEXT, running_browser
from tests.services.stack import running_stack

ROOT = Path(__file__).resolve().parent.parent
PICTURES = ROOT / "docs" / "screenshots"
WORKFLOWS = ROOT / "workflows"
QUALITY = 80  # of the WebP files
PHONE = {"viewport": {"width": 390, "height": 844}}

ALLERGIES: dict[str, Any] = {
    "name": "Allergy record",
    "description": "Keeps what is known of a patient's allergies for the workflows that prescribe.",
    "entries": [{"id": "noted", "event": "allergy.noted"}],
    "start": "keep",
    "nodes": [
        {
            "id": "keep",
            "type": "memory.write",
            "title": "Keep the allergies",
            "scope": "subject",
            "subject": "patient",
            "key": "'allergies'",
            "value": "event.data",
            "valueType": {"type": "object"},
            "typeName": "Allergies",
            "next": "reviewed",
        },
        {
            "id": "reviewed",
            "type": "memory.write",
            "title": "Note the review",
            "scope": "workflow",
            "subject": "patient",
            "key": "'last-review'",
            "value": "event.time",
            "valueType": {"type": "string"},
            "typeName": "Instant",
            "retentionSeconds": 7776000,
            "next": "done",
        },
        {"id": "done", "type": "end"},
    ],
}


@dataclass(frozen=True)
class Picture:
    """One picture: its file's name, the address, and what differs from a reader of English on a wide, light screen."""

    name: str
    address: str
    options: dict[str, Any]


def main() -> None:
    PICTURES.mkdir(parents=True, exist_ok=True)
    with (
        tempfile.TemporaryDirectory() as folder,
        running_stack(Path(folder)) as stack,
        httpx.Client(base_url=stack.api, timeout=30) as api,
        running_browser() as browser,
    ):
        waiting_run = populate(api)
        for picture in pictures(waiting_run):
            take(browser, stack.api, picture)
            print(f"docs/screenshots/{picture.name}.webp")


def pictures(waiting_run: str) -> list[Picture]:
    run = f"/console/runs/{waiting_run}"
    return [
        Picture("runs", "/console/runs", {}),
        Picture("run", run, {"viewport": {"width": 1280, "height": 1180}}),
        Picture("run-dark", run, {"color_scheme": "dark", "viewport": {"width": 1280, "height": 1180}}),
        Picture("run-french", run, {"locale": "fr-CH"}),
        Picture("run-phone", run, PHONE),
        Picture("events", "/console/events", {}),
        Picture("memory", "/console/memory?subjectKind=patient&subjectId=p-42", {}),
        Picture("workflows", "/console/workflows", {}),
        Picture("workflow", "/console/workflows/potassium-alert", {"viewport": {"width": 1280, "height": 1000}}),
        Picture("difference", "/console/workflows/potassium-alert?version=2&against=1", {}),
    ]


def populate(api: httpx.Client) -> str:
    """Publishes the samples and sends what makes each page worth a look; the run that waits for a decision."""
    alert = json.loads((WORKFLOWS / "potassium-alert.json").read_text())
    publish(api, "potassium-alert", {**alert, "description": "A first draft."})
    publish(api, "potassium-alert", alert)
    publish(api, "admission-record", json.loads((WORKFLOWS / "admission-record.json").read_text()))
    publish(api, "allergy-record", ALLERGIES)

    def send(kind: str, patient: str, data: dict[str, Any], **more: Any) -> Any:
        event = {"type": kind, "source": "lab", "subjects": {"patient": patient}, "data": data, **more}
        return api.post("/api/events", json=event).json().get("runs", [])

    def alert_of(patient: str, value: float) -> str:
        return str(send("observation.created", patient, {"code": "K", "value": value, "unit": "mmol/L"})[0]["runId"])

    when = {"time": "2026-11-30T20:09:00Z"}
    send("allergy.noted", "p-42", {"substances": ["penicillin", "latex"], "severity": "anaphylaxis"}, **when)
    for patient, ward in (("p-42", "cardiology"), ("p-57", "oncology"), ("p-63", "cardiology")):
        send("admission.created", patient, {"ward": ward, "reason": "observation"}, **when)
    decided, resumed, waiting = alert_of("p-57", 6.2), alert_of("p-63", 2.3), alert_of("p-42", 6.4)
    for run_id in (decided, resumed, waiting):
        await_status(api, run_id, "suspended")
    api.post(f"/api/decide/{decided}/validate", json={"outcome": "dismissed", "by": "Dr Roth"})
    api.post(f"/api/decide/{resumed}/validate", json={"outcome": "treated", "by": "Dr Roth", "comment": "KCl given"})
    send("observation.created", "p-63", {"code": "Na", "value": 140})
    send("discharge.planned", "p-57", {})
    send("observation.created", "", {})
    send("observation.created", "p-42", {}, eventId=waiting.partition(":")[0])
    return waiting


def publish(api: httpx.Client, slug: str, definition: dict[str, Any]) -> None:
    api.post(f"/api/workflows/{slug}/versions", json=definition).raise_for_status()


def await_status(api: httpx.Client, run_id: str, status: str) -> None:
    if not wait_until(lambda: api.get(f"/api/runs/{run_id}").json()["status"] == status, 30):
        raise RuntimeError(f"The run {run_id} did not come to be {status}.")


def take(browser: Browser, base_url: str, picture: Picture) -> None:
    options: dict[str, Any] = {**CONTEXT, **picture.options, "base_url": base_url, "reduced_motion": "reduce"}
    with browser.new_context(**options) as context:
        page = context.new_page()
        page.goto(picture.address)
        page.wait_for_load_state("networkidle")
        page.locator(".loading, .volume-loading").first.wait_for(state="detached")
        session = context.new_cdp_session(page)
        taken = session.send("Page.captureScreenshot", {"format": "webp", "quality": QUALITY})
        (PICTURES / f"{picture.name}.webp").write_bytes(base64.b64decode(taken["data"]))


if __name__ == "__main__":
    main()
