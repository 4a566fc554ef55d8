"""Ingestion once, whatever fails in between: Restate, the database, the process."""

import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import psycopg
import pytest

from local.ports import free_port
from local.restate import RestateServer
from meridian import jsontext
from meridian.clock import ago
from meridian.definitions.validation import problems
from meridian.errors import DatabaseUnavailable, RestateUnavailable
from meridian.ingestion.event import Event, Target
from meridian.ingestion.recent import RecentEvent, RecentEvents
from meridian.ingestion.service import Ingestor
from meridian.runs.model import NewRun, RunDetail
from tests.services.control import Control, an_event, definition, reasons, started_in_restate
from tests.services.lossy import lossy

ROOT = Path(__file__).resolve().parents[3]


def test_restate_down_leaves_no_row_and_the_same_event_completes(control: Control, postgres_url: str):
    control.publish("a", definition(), activate=True)
    event = an_event()
    down = Control(postgres_url, f"http://127.0.0.1:{free_port()}")
    with pytest.raises(RestateUnavailable) as unavailable:
        down.ingestor.ingest(event)
    assert unavailable.value.extra == {"eventId": event.id, "runs": []}
    assert control.event_runs(event) == []
    assert control.recent.page(None, 1)[0].outcome == "unavailable"
    down.close()
    assert reasons(control, event) == {"a": "started"}


def test_what_started_is_listed_when_some_deliveries_fail(control: Control):
    for slug in ("a", "b"):
        control.publish(slug, definition(slug), activate=True)
    event = an_event()

    class FailsForB:
        url = control.ingress.url

        def send_run(self, run_id: str, run_input: Any, timeout: float | None = None) -> bool:
            if run_id.endswith(":b"):
                raise RestateUnavailable("Restate is out of reach.")
            return control.ingress.send_run(run_id, run_input, timeout)

        def get_start(self, run_id: str, timeout: float | None = None) -> Any:
            return control.ingress.get_start(run_id, timeout)

    broken = Ingestor(control.runs, control.definitions, control.recent, FailsForB(), check=problems)
    with pytest.raises(RestateUnavailable) as partly:
        broken.ingest(event)
    assert [run["workflow"] for run in partly.value.extra["runs"]] == ["a"]
    assert reasons(control, event) == {"a": "duplicate", "b": "started"}


def test_a_restate_that_never_answers_is_unavailable_in_time_for_the_caller(
    control: Control, postgres_url: str, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("meridian.ingestion.service.SEND_BUDGET_SECONDS", 1.0)
    for number in range(20):  # more deliveries than are sent at once
        control.publish(f"a{number}", definition(), activate=True)
    with socket.create_server(("127.0.0.1", 0), backlog=64) as silent:
        slow = Control(postgres_url, f"http://127.0.0.1:{silent.getsockname()[1]}")
        began = time.monotonic()
        with pytest.raises(RestateUnavailable):
            slow.ingestor.ingest(an_event())
        assert time.monotonic() - began < 3
        slow.close()


CRASH = """
import os, signal, sys
from tests.services.control import Control
from meridian.ingestion.event import Event
control = Control(sys.argv[1], sys.argv[2])
control.runs.insert = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
control.recent.record_with_run = control.runs.insert
control.ingestor.ingest(Event(sys.argv[3], "observation.created", None, None, {}, None, None))
"""


@pytest.mark.parametrize("slugs", [["a"], ["a", "b"]], ids=["one delivery", "several"])
def test_a_crash_between_the_start_and_the_row_is_completed_by_the_redelivery(
    control: Control, engine: RestateServer, postgres_url: str, slugs: list[str]
):
    for slug in slugs:
        control.publish(slug, definition(), activate=True)
    event = an_event()
    path = os.pathsep.join([str(ROOT), str(ROOT / "layers" / "meridian")])
    crashed = subprocess.run(
        [sys.executable, "-c", CRASH, postgres_url, engine.ingress_url, event.id],
        env={**os.environ, "PYTHONPATH": path},
        check=False,
    )
    assert crashed.returncode == -signal.SIGKILL
    assert 1 <= started_in_restate(engine, event) <= len(slugs)
    assert control.event_runs(event) == []

    assert reasons(control, event) == dict.fromkeys(slugs, "started")
    assert control.event_runs(event) == [f"{event.id}:{slug}" for slug in slugs]
    assert started_in_restate(engine, event) == len(slugs)


class AcceptedBefore:
    """A Restate that has accepted every key before, and tells `start` of it."""

    def __init__(self, url: str, start: dict[str, Any] | None) -> None:
        self.url = url
        self._start = start

    def send_run(self, run_id: str, run_input: Any, timeout: float | None = None) -> bool:
        return False

    def get_start(self, run_id: str, timeout: float | None = None) -> Any:
        return self._start


def accepted_before(control: Control, event: Event, start: dict[str, Any]) -> RunDetail:
    """The row of the event's run, which a redelivery writes after `start` had been accepted."""
    restate = AcceptedBefore(control.ingress.url, start)
    Ingestor(control.runs, control.definitions, control.recent, restate, check=problems).ingest(event)
    detail = control.runs.get(f"{event.id}:a")
    assert detail is not None
    return detail


def test_a_run_that_was_accepted_before_is_indexed_as_it_was_started(control: Control):
    first = control.publish("a", definition(), activate=True)
    control.publish("a", definition("Renamed"), activate=True)
    event = an_event()
    first_received = ago(minutes=5)
    first_event = {**event.as_json(), "type": "observation.first", "subjects": {"patient": "p-40"}, "data": 1}
    start = {
        "workflow": {"slug": "a", "name": "Workflow", "file": "a.json", "version": 1, "hash": first.spec_hash},
        "triggerId": None,
        "routeMatch": "unfiltered",
        "receivedAt": first_received,
        "event": first_event,
        "spec": None,
    }
    run, stored_event, spec_json = accepted_before(control, event, start)
    assert (run.spec_version, run.workflow_name, run.created_at) == (1, "Workflow", first_received)
    assert (stored_event, run.event_type, run.subjects) == (first_event, "observation.first", {"patient": "p-40"})
    assert spec_json is not None


def test_a_draft_that_was_accepted_before_is_the_one_that_is_kept(control: Control):
    event = an_event(Target(workflow="a", spec=definition("Second draft")))
    start = {
        "workflow": {"slug": "a", "name": "First draft", "file": "a.json", "version": None, "hash": "of the first"},
        "triggerId": "lab",
        "routeMatch": "pinned",
        "receivedAt": ago(minutes=5),
        "event": event.as_json(),
        "spec": definition("First draft"),
    }
    run, _, spec_json = accepted_before(control, event, start)
    assert (run.workflow_name, run.spec_hash, run.spec_version) == ("First draft", "of the first", None)
    assert jsontext.parse(spec_json or "") == definition("First draft")


def test_a_database_that_goes_away_before_the_row_is_completed_by_the_redelivery(control: Control, postgres_url: str):
    control.publish("a", definition(), activate=True)
    event = an_event()

    class LosesTheDatabase(RecentEvents):
        def record_with_run(self, run: NewRun, if_written: RecentEvent, if_there: RecentEvent) -> bool:
            raise DatabaseUnavailable("The database is out of reach.")

    recent = LosesTheDatabase(control.database)
    broken = Ingestor(control.runs, control.definitions, recent, control.ingress, check=problems)
    with pytest.raises(DatabaseUnavailable) as unavailable:
        broken.ingest(event)
    assert unavailable.value.extra == {"eventId": event.id, "runs": []}
    assert control.event_runs(event) == []
    assert reasons(control, event) == {"a": "started"}


def test_a_lost_answer_to_the_write_of_a_run_is_still_a_run_that_this_delivery_started(
    control: Control, engine: RestateServer, postgres_url: str
):
    control.publish("a", definition(), activate=True)
    event = an_event()
    with lossy(postgres_url) as proxy:
        far = Control(proxy.url, engine.ingress_url)
        proxy.lose_answer_to("INSERT INTO recent_events")
        assert reasons(far, event) == {"a": "started"}
        assert proxy.lost == 1
        far.close()
    assert control.event_runs(event) == [f"{event.id}:a"]
    assert [(recent.event_id, recent.outcome) for recent in control.recent.page(None, 10)] == [(event.id, "started")]


def test_a_connection_cut_between_two_events_is_replaced_within_the_request(control: Control, postgres_url: str):
    control.publish("a", definition(), activate=True)
    control.ingestor.ingest(an_event())
    with psycopg.connect(postgres_url, autocommit=True) as other:
        other.execute("select pg_terminate_backend(pid) from pg_stat_activity where pid <> pg_backend_pid()")
    assert reasons(control, an_event()) == {"a": "started"}
