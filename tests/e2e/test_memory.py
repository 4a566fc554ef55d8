"""Workflow memory through the whole stack: what one run remembers, the next one finds."""

import json
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.services.stack import RunningStack

ROOT = Path(__file__).resolve().parents[2]
PATIENT = f"p-zq7-{os.getpid()}"


@pytest.fixture(scope="module")
def api(stack: RunningStack) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=stack.api, timeout=30) as client:
        document = json.loads((ROOT / "workflows" / "potassium-alert.json").read_text())
        assert client.post("/api/workflows/potassium-alert/versions", json=document).status_code == 201
        yield client


def measured(api: httpx.Client, number: int, value: str, target: str = "potassium-alert") -> dict[str, Any]:
    """Sends a result and returns its run once it rests."""
    body = (
        f'{{"eventId": "memory-{os.getpid()}-{number}", "type": "observation.created", '
        f'"subjects": {{"patient": "{PATIENT}"}}, '
        f'"data": {{"code": "K", "value": {value}}}, "target": {{"workflow": "{target}"}}}}'
    )
    [started] = api.post("/api/events", content=body).json()["runs"]
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        run: dict[str, Any] = api.get(f"/api/runs/{started['runId']}").json()
        if run["status"] not in ("running", "unknown"):
            return run
        time.sleep(0.1)
    raise AssertionError("the run did not rest")


def assessed(run: dict[str, Any]) -> tuple[Any, str]:
    [output] = [visit["output"] for visit in run["snapshot"]["trace"] if visit["node"] == "assess"]
    return output["previous"], output["trend"]


def test_a_run_compares_with_what_the_run_before_it_remembered(api: httpx.Client, stack: RunningStack):
    first = measured(api, 1, "4.203141592650")
    assert (first["status"], assessed(first)) == ("completed", (None, "first result"))

    second = measured(api, 2, "6.403141592650")
    assert (second["status"], assessed(second)) == ("suspended", (4.20314159265, "rising"))
    assert second["snapshot"]["pending"]["message"] == "Potassium 6.403141592650 mmol/L high (rising)"

    query = {"subjectKind": "patient", "subjectId": PATIENT}
    listed = api.get("/api/memory", params=query)
    [item] = listed.json()["items"]
    assert (item["key"], item["workflow"], item["writtenBy"]["run"]) == (
        "last-potassium",
        "potassium-alert",
        second["id"],
    )
    assert '"value":6.403141592650' in listed.text
    assert api.delete("/api/memory", params=query).json() == {"forgotten": 1}
    assert assessed(measured(api, 3, "4.1")) == (None, "first result")


def test_the_internal_routes_answer_on_the_internal_api_alone(api: httpx.Client, stack: RunningStack):
    address = {"scope": "subject", "subjectKind": "patient", "subjectId": PATIENT, "key": "key-zq7"}
    assert api.post("/api/internal/memory/read", json=address).status_code == 404
    inside = httpx.post(f"{stack.internal_api}/api/internal/memory/read", json=address, timeout=30)
    assert (inside.status_code, inside.json()) == (200, {"version": 0})
