"""Ingestion on a real PostgreSQL and a real Restate: each workflow that receives an event has one run of it."""

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from local.restate import RestateServer
from meridian.clock import ago
from meridian.errors import InvalidInput
from meridian.ingestion.event import Event, Target
from meridian.ingestion.routing import RoutingByOneRead, RoutingByTwoReads
from tests.services.control import Control, an_event, definition, reasons, started_in_restate


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
