"""Ingestion on a real PostgreSQL and a real Restate: once, whatever fails in between."""

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from pathlib import Path
from typing import Any

import httpx
import psycopg
import pytest

from local.ports import free_port
from local.restate import RestateServer
from local.waiting import wait_until
from meridian import jsontext
from meridian.clock import ago, now
from meridian.database import ensure_schema, open_database
from meridian.definitions.sql_store import DEFINITION_SCHEMA, SqlDefinitionStore
from meridian.definitions.store import PublishedVersion
from meridian.definitions.validation import problems
from meridian.errors import DatabaseUnavailable, InvalidInput, RestateUnavailable
from meridian.ingestion.event import Event, Target
from meridian.ingestion.recent import RecentEvent, RecentEvents
from meridian.ingestion.routing import ROUTING_SCHEMA, RoutingByOneRead, RoutingByTwoReads
from meridian.ingestion.service import Ingestor
from meridian.restate.ingress import Ingress
from meridian.runs.model import NewRun, RunDetail, RunFilter
from meridian.runs.schema import RUN_SCHEMA
from meridian.runs.store import SqlRunStore
from tests.services.endpoint import serving
from tests.services.lossy import lossy
from tests.services.scripted import scripted_endpoint

ROOT = Path(__file__).resolve().parents[3]
_numbers = count(1)


def definition(name: str = "Workflow", event: str = "observation.created") -> dict[str, Any]:
    return {
        "name": name,
        "entries": [{"id": "lab", "event": event}],
        "start": "done",
        "nodes": [{"id": "done", "type": "end"}],
    }


class Control:
    """The control plane's parts on one database and one Restate."""

    def __init__(self, database_url: str, ingress_url: str) -> None:
        self.database = open_database(database_url)
        ensure_schema(self.database, RUN_SCHEMA, DEFINITION_SCHEMA, ROUTING_SCHEMA)
        self.runs = SqlRunStore(self.database)
        self.definitions = SqlDefinitionStore(self.database)
        self.recent = RecentEvents(self.database)
        self.ingress = Ingress(ingress_url)
        self.ingestor = Ingestor(
            self.runs,
            self.definitions,
            self.recent,
            self.ingress,
            check=problems,
            routing=RoutingByOneRead(self.database),
        )

    def publish(self, slug: str, document: dict[str, Any], *, activate: bool) -> PublishedVersion:
        """Publishes a version before whatever comes next: anteriority compares milliseconds."""
        published = self.definitions.publish(slug, document, activate=activate)
        assert wait_until(lambda: now() > published.published_at, seconds=1, pause=0.001)
        return published

    def event_runs(self, event: Event) -> list[str]:
        return sorted(run.id for run in self.runs.find(RunFilter(event=event.id), None, 100))

    def close(self) -> None:
        self.database.close()
        self.ingress.close()


@pytest.fixture(scope="module")
def engine(restate: RestateServer) -> Iterator[RestateServer]:
    """Restate with runs that complete at once: a run's input has no steps, so that it only begins."""
    with serving(scripted_endpoint([])) as url:
        restate.register({"uri": url, "use_http_11": True})
        yield restate


@pytest.fixture
def control(postgres_url: str, engine: RestateServer) -> Iterator[Control]:
    made = Control(postgres_url, engine.ingress_url)
    yield made
    made.close()


def an_event(target: Target | None = None, event_type: str = "observation.created") -> Event:
    event_id = f"ev-{os.getpid()}-{next(_numbers)}"
    return Event(event_id, event_type, "lab", None, {"patient": "p-42"}, {"code": "K"}, target)


def started_in_restate(server: RestateServer, event: Event) -> int:
    query = f"select count(*) as n from sys_invocation where target_service_key like '{event.id}:%'"
    answer = httpx.post(f"{server.admin_url}/query", json={"query": query}, headers={"accept": "application/json"})
    return int(answer.json()["rows"][0]["n"])


def reasons(control: Control, event: Event) -> dict[str, str]:
    return {str(result.workflow): result.reason for result in control.ingestor.ingest(event).results}


def test_an_event_starts_one_run_per_workflow_that_receives_it(control: Control, engine: RestateServer):
    for slug in ("a", "b"):
        control.publish(slug, definition(slug), activate=True)
    control.publish("other", definition("other", event="admission"), activate=True)
    control.publish("inactive", definition("inactive"), activate=False)
    event = an_event()

    ingestion = control.ingestor.ingest(event)

    assert [(r.workflow, r.created, r.reason, r.route_match) for r in ingestion.results] == [
        ("a", True, "started", "unfiltered"),
        ("b", True, "started", "unfiltered"),
    ]
    assert control.event_runs(event) == [f"{event.id}:a", f"{event.id}:b"]
    assert started_in_restate(engine, event) == 2


def test_twenty_parallel_posts_of_one_event_start_one_run_per_workflow(
    control: Control, engine: RestateServer, postgres_url: str
):
    for slug in ("a", "b"):
        control.publish(slug, definition(slug), activate=True)
    event = an_event()
    others = [Control(postgres_url, engine.ingress_url) for _ in range(20)]
    barrier = threading.Barrier(20)

    def post(one: Control) -> Any:
        barrier.wait()
        return one.ingestor.ingest(event)

    with ThreadPoolExecutor(20) as posts:
        ingestions = list(posts.map(post, others))
    for one in others:
        one.close()

    assert control.event_runs(event) == [f"{event.id}:a", f"{event.id}:b"]
    assert started_in_restate(engine, event) == 2
    # All answers name the same runs, and of each run exactly one says that it started it.
    assert {tuple(sorted(r.run_id for r in i.results)) for i in ingestions} == {(f"{event.id}:a", f"{event.id}:b")}
    for slug in ("a", "b"):
        created = [r.created for i in ingestions for r in i.results if r.workflow == slug]
        assert created.count(True) == 1


def test_the_same_event_again_is_a_duplicate_also_with_other_content(control: Control):
    control.publish("a", definition(), activate=True)
    event = an_event()
    assert reasons(control, event) == {"a": "started"}
    again = Event(event.id, event.type, "elsewhere", None, {}, None, None)
    assert reasons(control, again) == {"a": "duplicate"}
    [recent, first] = control.recent.page(None, 10)
    assert (recent.outcome, first.outcome) == ("duplicate", "started")
    assert recent.deliveries[0]["runId"] == f"{event.id}:a"
    assert recent.deliveries[0]["workflow"] == "a"


def test_published_after_the_first_reception_starts_nothing_and_is_reported_with_the_events_rows(control: Control):
    control.publish("a", definition(), activate=True)
    event = an_event()
    control.ingestor.ingest(event)
    control.definitions.set_active("a", None)
    control.publish("late", definition("Late"), activate=True)

    ingestion = control.ingestor.ingest(event)

    # The one target is skipped: the entries are the event's rows, as duplicates.
    assert [(r.workflow, r.created, r.reason) for r in ingestion.results] == [("a", False, "duplicate")]
    assert control.event_runs(event) == [f"{event.id}:a"]
    recent = control.recent.page(None, 1)[0]
    assert (recent.outcome, recent.deliveries[0]["workflow"]) == ("anteriority", "late")


def test_a_skipped_workflow_is_named_beside_the_duplicates(control: Control):
    control.publish("a", definition(), activate=True)
    event = an_event()
    control.ingestor.ingest(event)
    control.publish("late", definition("Late"), activate=True)
    assert reasons(control, event) == {"a": "duplicate", "late": "anteriority"}


def test_published_before_the_first_reception_starts_on_redelivery(control: Control):
    control.publish("early", definition("Early"), activate=False)
    control.publish("a", definition(), activate=True)
    event = an_event()
    control.ingestor.ingest(event)
    control.definitions.set_active("early", 1)
    assert reasons(control, event) == {"a": "duplicate", "early": "started"}


def test_a_designated_delivery_starts_whenever_it_was_published(control: Control):
    control.publish("a", definition(), activate=True)
    event = an_event()
    control.ingestor.ingest(event)
    control.publish("late", definition("Late"), activate=True)
    designated = Event(event.id, event.type, None, None, {}, None, Target(workflow="late"))
    [result] = control.ingestor.ingest(designated).results
    assert (result.workflow, result.created, result.route_match) == ("late", True, "targeted")


def test_an_old_row_makes_the_event_a_duplicate_for_everyone(control: Control):
    control.publish("a", definition(), activate=True)
    event = an_event()
    control.database.execute(
        "INSERT INTO runs (id, service, workflow_name, event, created_at) VALUES (:id, 's', 'Old', '{}', :at)",
        {"id": event.id, "at": ago(days=1)},
    )
    [result] = control.ingestor.ingest(event).results
    assert (result.run_id, result.workflow_name, result.reason) == (event.id, "Old", "duplicate")


def test_a_draft_runs_what_was_submitted_and_keeps_it(control: Control):
    spec = definition("Draft")
    event = an_event(Target(workflow="draft", spec=spec))
    [result] = control.ingestor.ingest(event).results
    assert (result.created, result.route_match) == (True, "pinned")
    detail = control.runs.get(result.run_id)
    assert detail is not None
    assert (detail.run.spec_version, detail.run.workflow_name) == (None, "Draft")
    assert detail.spec_json is not None


def test_a_draft_that_is_no_definition_starts_nothing_and_names_the_fault(control: Control):
    spec = definition() | {"start": "nowhere"}
    event = an_event(Target(workflow="draft", spec=spec))
    with pytest.raises(InvalidInput) as refused:
        control.ingestor.ingest(event)
    assert "/target/spec/start" in [error.pointer for error in refused.value.errors]
    assert control.event_runs(event) == []
    assert control.recent.page(None, 1)[0].outcome == "rejected"


def test_an_event_that_nobody_receives_is_recorded_as_unrouted(control: Control):
    event = an_event(event_type="nobody.cares")
    assert control.ingestor.ingest(event).results == ()
    recent = control.recent.page(None, 1)[0]
    assert (recent.event_id, recent.outcome) == (event.id, "unrouted")


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
from tests.integration.ingestion.test_ingestor import Control
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


def test_the_one_read_and_the_two_tell_the_same(control: Control):
    for slug in ("b", "a", "other"):
        control.publish(slug, definition(slug), activate=True)
    control.publish("later", definition("later"), activate=False)
    event = an_event()
    control.ingestor.ingest(event)
    control.definitions.set_active("other", None)
    control.definitions.set_active("later", 1)
    rows = [(event.id, "old", None), (f"{event.id}:later", "later", None), ("not-of-it", "a", "another event")]
    for run_id, name, source_event_id in rows:
        control.database.execute(
            "INSERT INTO runs (id, service, workflow_name, event, created_at, source_event_id) "
            "VALUES (:id, 's', :name, '{}', :at, :source_event_id)",
            {"id": run_id, "name": name, "at": ago(days=1), "source_event_id": source_event_id},
        )

    by_one = RoutingByOneRead(control.database).known(event.id, event.type)
    by_two = RoutingByTwoReads(control.runs, control.definitions).known(event.id, event.type)

    assert by_one == by_two
    receiving, known = by_one
    assert [version.slug for version in receiving] == ["a", "b", "later"]
    assert [row.id for row in known] == [event.id, *(f"{event.id}:{slug}" for slug in ("later", "a", "b", "other"))]
    nobody = RoutingByOneRead(control.database).known("unknown", "nobody.cares")
    assert nobody == RoutingByTwoReads(control.runs, control.definitions).known("unknown", "nobody.cares") == ([], [])


def test_a_connection_cut_between_two_events_is_replaced_within_the_request(control: Control, postgres_url: str):
    control.publish("a", definition(), activate=True)
    control.ingestor.ingest(an_event())
    with psycopg.connect(postgres_url, autocommit=True) as other:
        other.execute("select pg_terminate_backend(pid) from pg_stat_activity where pid <> pg_backend_pid()")
    assert reasons(control, an_event()) == {"a": "started"}
