"""A run index in SQLite, with definitions from a folder: the whole stack on one machine without PostgreSQL."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from local.waiting import wait_until
from tests.services.stack import ROOT, RunningStack, running_stack


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningStack]:
    folder = tmp_path_factory.mktemp("sqlite")
    with running_stack(folder / "data", RUN_DB_URL=f"sqlite:{folder / 'runs.sqlite'}") as running:
        yield running


@pytest.fixture
def api(stack: RunningStack) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=stack.api, timeout=60) as client:
        yield client


def test_the_index_is_the_file_and_the_stack_is_ready(api: httpx.Client, stack: RunningStack) -> None:
    assert api.get("/readyz").json() == {"status": "ready", "checks": {"runStore": True, "restate": True}}
    assert Path(stack.run_db_url.removeprefix("sqlite:")).is_file()


def test_definitions_are_those_of_the_folder_and_cannot_be_published(api: httpx.Client) -> None:
    document = json.loads((ROOT / "workflows" / "admission-record.json").read_text())

    slugs = {workflow["slug"] for workflow in api.get("/api/workflows").json()["workflows"]}
    assert slugs == {file.stem for file in (ROOT / "workflows").glob("*.json")}
    assert api.post("/api/workflows/another/versions", json=document).status_code == 409


def test_an_event_starts_a_run_that_ends_and_is_found(api: httpx.Client) -> None:
    event = json.loads((ROOT / "events" / "samples" / "admission.json").read_text())

    posted = api.post("/api/events", json=event)
    assert posted.status_code == 202, posted.text
    run_id = posted.json()["runs"][0]["runId"]

    def has_ended() -> bool:
        runs = api.get("/api/runs", params={"subject": f"patient:{event['subjects']['patient']}"}).json()["runs"]
        return [(run["id"], run["finalStatus"]) for run in runs] == [(run_id, "completed")]

    assert wait_until(has_ended, 20)
    assert api.post("/api/events", json=event).json()["runs"][0]["reason"] == "duplicate"


def test_memory_says_that_it_needs_postgresql(api: httpx.Client) -> None:
    answer = api.get("/api/memory", params={"subjectKind": "patient", "subjectId": "p-42"})

    assert answer.status_code == 503
    assert "PostgreSQL" in answer.json()["detail"]
