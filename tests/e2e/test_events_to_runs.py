"""The main job through the whole stack: the real API emulator, Lambda runtime, PostgreSQL, Restate and engine."""

import json
import os
import re
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import quote

import httpx
import psycopg
import pytest

from tests.services.stack import RunningStack, running_stack

ROOT = Path(__file__).resolve().parents[2]
_numbers = count(1)
Found = TypeVar("Found")

POTASSIUM = {"code": "K", "value": 6.1, "unit": "mmol/L"}


def event_id(tag: str = "e2e") -> str:
    return f"{tag}-{os.getpid()}-{next(_numbers)}"


def finished(api: httpx.Client, run_id: str) -> dict[str, Any]:
    def ended() -> dict[str, Any] | None:
        run: dict[str, Any] = api.get(f"/api/runs/{run_id}").json()
        return run if run["finalStatus"] else None

    return until(ended)


def until(found: Callable[[], Found | None], seconds: float = 20.0) -> Found:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if (value := found()) is not None:
            return value
        time.sleep(0.1)
    raise AssertionError("it did not come about in time")


def publish(api: httpx.Client, slug: str, document: dict[str, Any] | None = None, event: str = "e2e.event") -> None:
    document = document or {
        "name": slug,
        "entries": [{"id": "only", "event": event}],
        "start": "note",
        "nodes": [
            {"id": "note", "type": "set", "values": {"value": "event.data.value"}, "next": "done"},
            {"id": "done", "type": "end", "output": "{value: nodes.note.output.value}"},
        ],
    }
    answer = api.post(f"/api/workflows/{slug}/versions", json=document)
    assert answer.status_code == 201, answer.text


@pytest.fixture(scope="module")
def api(stack: RunningStack) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=stack.api, timeout=30) as client:
        for name in ("potassium-alert", "admission-record"):
            document = json.loads((ROOT / "workflows" / f"{name}.json").read_text())
            publish(client, name, document)
        yield client


def test_an_event_becomes_a_run_that_is_executed_listed_and_archived(api: httpx.Client, stack: RunningStack):
    slug, name = f"adds-{os.getpid()}", event_id()
    publish(api, slug, event=f"type-{slug}")
    posted = api.post(
        "/api/events",
        content=f'{{"eventId": "{name}", "type": "type-{slug}", "subjects": {{"patient": "p-zq7-{name}"}}, '
        f'"data": {{"value": 6.10}}}}',
    )
    assert posted.status_code == 202
    [started] = posted.json()["runs"]
    assert (started["workflow"], started["created"], started["reason"]) == (slug, True, "started")

    run = finished(api, started["runId"])

    assert (run["status"], run["finalStatus"]) == ("completed", "completed")
    assert run["nodeStatus"] == {"note": "completed", "done": "completed"}
    assert '"output":{"value":6.10}' in api.get(f"/api/runs/{started['runId']}").text
    [listed] = api.get("/api/runs", params={"subject": f"patient:p-zq7-{name}"}).json()["runs"]
    assert (listed["id"], listed["status"], listed["eventType"]) == (run["id"], "completed", f"type-{slug}")
    assert "event" not in listed
    assert "snapshot" not in listed
    with psycopg.connect(stack.run_db_url) as database:
        archived = database.execute("select snapshot from run_snapshots where run_id = %s", [run["id"]]).fetchone()
    assert archived is not None
    assert json.loads(archived[0])["status"] == "completed"


def test_a_run_that_ends_is_frozen_and_counted_once_by_its_readers(api: httpx.Client, stack: RunningStack):
    slug, name = f"counts-{os.getpid()}", event_id()
    publish(api, slug, event=f"type-{slug}")
    [started] = api.post("/api/events", json={"eventId": name, "type": f"type-{slug}"}).json()["runs"]
    with ThreadPoolExecutor(8) as readers:
        list(readers.map(lambda _: finished(api, started["runId"]), range(8)))
        list(readers.map(lambda _: api.get("/api/runs").status_code, range(8)))
    counted = [line for line in stack.log("RunsFunction").splitlines() if "meridian.runs.settled" in line]
    assert counted, "the metric is written"
    assert all('"source":"read"' in line for line in counted)


def test_twenty_parallel_posts_start_one_run_per_workflow(api: httpx.Client):
    slugs = [f"par{number}-{os.getpid()}" for number in range(2)]
    for slug in slugs:
        publish(api, slug, event=f"type-par-{os.getpid()}")
    name = event_id("parallel")
    barrier = threading.Barrier(20)

    def post(_: int) -> httpx.Response:
        barrier.wait()
        return api.post("/api/events", json={"eventId": name, "type": f"type-par-{os.getpid()}"})

    with ThreadPoolExecutor(20) as posts:
        answers = list(posts.map(post, range(20)))

    assert {answer.status_code for answer in answers} <= {200, 202}
    runs = {tuple(sorted(run["runId"] for run in answer.json()["runs"])) for answer in answers}
    assert runs == {tuple(f"{name}:{slug}" for slug in sorted(slugs))}
    assert len(api.get("/api/runs", params={"event": name}).json()["runs"]) == 2


def test_the_same_event_after_the_run_has_ended_is_a_duplicate(api: httpx.Client):
    slug, name = f"again-{os.getpid()}", event_id()
    publish(api, slug, event=f"type-{slug}")
    event = {"eventId": name, "type": f"type-{slug}"}
    [started] = api.post("/api/events", json=event).json()["runs"]
    finished(api, started["runId"])
    again = api.post("/api/events", json=event)
    assert again.status_code == 200
    assert [(run["created"], run["reason"]) for run in again.json()["runs"]] == [(False, "duplicate")]


def test_the_three_forms_of_an_event_are_the_same_event(api: httpx.Client):
    name, form = event_id("forms"), "application/cloudevents+json"
    cloud = {"specversion": "1.0", "id": name, "type": "observation.created", "source": "lab", "data": POTASSIUM}
    first = api.post("/api/events", json=cloud, headers={"content-type": form})
    assert first.status_code == 202
    headers = {f"ce-{key}": value for key, value in cloud.items() if isinstance(value, str)}
    second = api.post("/api/events", json=POTASSIUM, headers=headers)
    third = api.post("/api/events", json={"eventId": name, "type": "observation.created", "data": POTASSIUM})
    for answer in (second, third):
        assert answer.status_code == 200
        assert answer.json()["runs"][0]["reason"] == "duplicate"


def test_the_recent_events_say_what_each_started_and_why_nothing(api: httpx.Client):
    unrouted = event_id("unrouted")
    api.post("/api/events", json={"eventId": unrouted, "type": "nobody.listens"})
    api.post("/api/events", json={"type": "observation.created", "subjects": {"patient": 1}})
    recent = api.get("/api/events", params={"limit": 2}).json()
    rejected, nothing = recent["events"]
    assert (nothing["eventId"], nothing["outcome"], nothing["runs"]) == (unrouted, "unrouted", [])
    assert rejected["outcome"] == "rejected"
    assert [error["pointer"] for error in rejected["problem"]["errors"]] == ["/subjects/patient"]
    following = api.get("/api/events", params={"limit": 1, "cursor": recent["nextCursor"]}).json()
    assert following["events"][0]["eventId"] != unrouted


def test_the_volume_counts_distinct_events_per_type_and_day(api: httpx.Client):
    slug = f"volume-{os.getpid()}"
    for number in range(2):
        publish(api, f"{slug}-{number}", event=f"type-{slug}")
    for _ in range(3):
        api.post("/api/events", json={"eventId": event_id("volume"), "type": f"type-{slug}"})
    volume = api.get("/api/events/volume").json()
    [of_type] = [item for item in volume["types"] if item["eventType"] == f"type-{slug}"]
    assert (len(of_type["days"]), of_type["days"][-1]["events"], of_type["total"]) == (7, 3, 3)


PROBLEMS: list[tuple[str, str, Any, int, str | None]] = [
    ("POST", "/api/events", b"{", 400, None),
    ("POST", "/api/events", b"\xff\xfe", 400, None),
    ("POST", "/api/events", b"[]", 422, ""),
    ("POST", "/api/events", b'{"eventId": "a"}', 422, "/type"),
    ("POST", "/api/events", b'{"type": 7}', 422, "/type"),
    ("POST", "/api/events", b'{"type": "t", "eventId": "a/b"}', 422, "/eventId"),
    ("POST", "/api/events", b'{"type": "t", "target": {"workflow": "no-such"}}', 404, "/target/workflow"),
    (
        "POST",
        "/api/events",
        b'{"type": "t", "target": {"workflow": "potassium-alert", "version": 99}}',
        404,
        "/target/version",
    ),
    (
        "POST",
        "/api/events",
        b'{"type": "t", "target": {"workflow": "potassium-alert", "trigger": "x"}}',
        404,
        "/target/trigger",
    ),
    ("POST", "/api/events", b'{"type": "t", "data": "' + b"x" * 1024 * 1024 + b'"}', 413, None),
    ("GET", "/api/runs?limit=0", None, 422, "/limit"),
    ("GET", "/api/runs?limit=201", None, 422, "/limit"),
    ("GET", "/api/runs?limit=many", None, 422, "/limit"),
    ("GET", "/api/runs?cursor=nonsense", None, 422, "/cursor"),
    ("GET", "/api/runs?status=paused", None, 422, "/status"),
    ("GET", "/api/runs?from=yesterday", None, 422, "/from"),
    ("GET", "/api/runs?to=9999-12-31T23:59:59-01:00", None, 422, "/to"),
    ("GET", "/api/runs?to=2026-11-30T10:00:00", None, 422, "/to"),
    ("GET", "/api/runs?subject=p-42", None, 422, "/subject"),
    ("GET", "/api/runs?unknown=1", None, 422, "/unknown"),
    ("GET", "/api/runs/no-such:run", None, 404, None),
    ("GET", "/api/nothing", None, 404, None),
    ("GET", "/api/workflows/no-such", None, 404, None),
    ("GET", "/api/workflows/potassium-alert/versions/0", None, 404, "/version"),
    ("POST", "/api/workflows/Not%20A%20Slug/versions", b"{}", 422, "/slug"),
    ("POST", "/api/workflows/bad/versions", b'{"name": 1}', 422, "/name"),
    ("PUT", "/api/workflows/potassium-alert/active", b'{"version": 99}', 404, "/version"),
    ("PUT", "/api/workflows/potassium-alert/active", b'{"version": "1"}', 422, "/version"),
    ("PUT", "/api/workflows/no-such/active", b'{"version": null}', 404, None),
]


@pytest.mark.parametrize(("method", "path", "body", "status", "pointer"), PROBLEMS)
def test_bad_input_is_a_problem_that_names_the_field(
    api: httpx.Client, method: str, path: str, body: bytes | None, status: int, pointer: str | None
):
    answer = api.request(method, path, content=body)
    assert answer.status_code == status, answer.text
    if path == "/api/nothing":  # answered by the API itself, before any function
        return
    assert answer.headers["content-type"] == "application/problem+json"
    problem = answer.json()
    assert (problem["status"], problem["type"]) == (status, "about:blank")
    assert problem["detail"]
    if pointer is not None:
        assert pointer in [error["pointer"] for error in problem["errors"]]


def test_run_ids_with_any_printable_character_are_read(api: httpx.Client):
    slug = f"odd-{os.getpid()}"
    publish(api, slug, event=f"type-{slug}")
    for odd in (
        "a b",
        "a:b",
        'q"uote',
        "hash#",
        "question?",
        "back\\slash",
        "été",
        "emoji🩺",
        "per%cent",
        "plus+",
    ):
        name = f"{odd}-{event_id()}"
        [started] = api.post("/api/events", json={"eventId": name, "type": f"type-{slug}"}).json()["runs"]
        assert started["runId"] == f"{name}:{slug}"
        answer = api.get(f"/api/runs/{quote(started['runId'], safe='')}")
        assert answer.status_code == 200, odd
        assert answer.json()["id"] == started["runId"]
        [listed] = api.get("/api/runs", params={"event": name}).json()["runs"]
        assert listed["id"] == started["runId"]


def test_no_log_line_holds_what_belongs_to_a_subject(api: httpx.Client, stack: RunningStack):
    secret = f"val-zq7-{os.getpid()}"
    event = {"type": "observation.created", "subjects": {"patient": secret}, "data": {**POTASSIUM, "note": secret}}
    assert api.post("/api/events", json=event).status_code == 202
    api.post("/api/events", json=event | {"time": secret})
    api.get("/api/runs", params={"subject": f"patient:{secret}"})
    api.post("/api/events", content=f'{{"type": "{secret}')
    time.sleep(1)
    logs = [path for path in (stack.data_dir / "logs").glob("*.log") if path.name != "postgres.log"]
    assert logs
    for log in logs:
        assert secret not in log.read_text(errors="replace"), log.name


def test_an_unavailable_restate_is_told_and_the_list_still_answers(tmp_path: Path):
    with running_stack(tmp_path / "data") as own, httpx.Client(base_url=own.api, timeout=30) as api:
        publish(api, "waits", {**json.loads((ROOT / "workflows" / "potassium-alert.json").read_text())})
        event = {
            "eventId": "before",
            "type": "observation.created",
            "subjects": {"patient": "p-42"},
            "data": POTASSIUM,
        }
        assert api.post("/api/events", json=event).status_code == 202
        until(lambda: True if api.get("/api/runs").json()["runs"][0]["status"] == "suspended" else None)
        stop_restate(own)

        refused = api.post("/api/events", json=event | {"eventId": "during"})
        assert refused.status_code == 503
        assert int(refused.headers["retry-after"]) > 0
        began = time.monotonic()
        listed = api.get("/api/runs")
        assert listed.status_code == 200
        assert time.monotonic() - began < 5
        assert [(run["id"], run["status"]) for run in listed.json()["runs"]] == [("before:waits", "unknown")]
        ready = api.get("/readyz")
        assert (ready.status_code, ready.json()["checks"]) == (503, {"runStore": True, "restate": False})
        assert api.get("/healthz").status_code == 200


def stop_restate(stack: RunningStack) -> None:
    """Kills the stack's own Restate server, by the process id that its log folder's port leads to."""
    port = int(re.search(r":(\d+)$", stack.restate_ingress).group(1))  # type: ignore[union-attr]
    for process in Path("/proc").glob("[0-9]*"):
        try:
            command = (process / "cmdline").read_bytes()
        except OSError:
            continue
        if b"restate-server" in command and str(stack.data_dir).encode() in command:
            os.kill(int(process.name), 9)
            until(lambda: True if not listening(port) else None)
            return
    raise AssertionError("the stack's Restate was not found")


def listening(port: int) -> bool:
    try:
        httpx.get(f"http://127.0.0.1:{port}/restate/health", timeout=1)
    except httpx.HTTPError:
        return False
    return True


def test_after_a_restart_of_everything_the_event_is_still_a_duplicate(tmp_path: Path):
    event = {"eventId": "kept", "type": "e2e.event"}
    with running_stack(tmp_path / "data") as first, httpx.Client(base_url=first.api, timeout=30) as api:
        publish(api, "kept")
        [started] = api.post("/api/events", json=event).json()["runs"]
        finished(api, started["runId"])
    with running_stack(tmp_path / "data") as second, httpx.Client(base_url=second.api, timeout=30) as api:
        again = api.post("/api/events", json=event)
        assert [run["reason"] for run in again.json()["runs"]] == ["duplicate"]
        assert api.get("/api/runs/kept:kept").json()["status"] == "completed"
