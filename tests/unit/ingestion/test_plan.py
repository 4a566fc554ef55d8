"""The delivery plan: every rule of "Event deduplication" as a case."""

from typing import Any

import pytest

from meridian.definitions.model import Definition, spec_hash
from meridian.definitions.store import PublishedVersion
from meridian.errors import NotFound
from meridian.ingestion.event import Event, Target
from meridian.ingestion.plan import Delivery, designate, plan_deliveries, route
from meridian.runs.model import EventRow

RECEIVED = "2026-11-30T10:00:00.000Z"
BEFORE, AFTER = "2026-11-30T09:59:59.999Z", "2026-11-30T10:00:00.001Z"


def published(slug: str, *entries: dict[str, Any], at: str = BEFORE, version: int = 1) -> PublishedVersion:
    document = {
        "name": slug.title(),
        "entries": list(entries) or [{"id": "lab", "event": "observation.created"}],
        "start": "done",
        "nodes": [{"id": "done", "type": "end"}, {"id": "other", "type": "end"}],
    }
    return PublishedVersion(slug, version, spec_hash(document), at, Definition.parse(document))


def an_event(target: Target | None = None, data: Any = None, event_type: str = "observation.created") -> Event:
    return Event("e1", event_type, "lab", None, {"patient": "p-42"}, data, target)


def a_row(run_id: str, source: str | None = "e1", created_at: str = RECEIVED) -> EventRow:
    return EventRow(run_id, source, created_at, run_id.partition(":")[2] or None, "W", "unfiltered", None)


def routed(slug: str, at: str = BEFORE) -> Delivery:
    [delivery] = route(an_event(), [published(slug, at=at)])
    return delivery


def designated(slug: str, at: str = AFTER) -> Delivery:
    target = Target(workflow=slug)
    return designate(an_event(target), target, published(slug, at=at))


class TestRoute:
    def test_an_entry_without_selector_takes_every_event_of_its_type(self):
        [delivery] = route(an_event(), [published("a")])
        assert (delivery.run_id, delivery.route_match, delivery.designated) == ("e1:a", "unfiltered", False)

    def test_an_entry_of_another_type_takes_nothing(self):
        assert route(an_event(event_type="admission"), [published("a")]) == []

    def test_a_selector_that_holds_takes_the_event(self):
        entry = {"id": "lab", "event": "observation.created", "selector": "event.data.code == 'K'"}
        [delivery] = route(an_event(data={"code": "K"}), [published("a", entry)])
        assert delivery.route_match == "selector"
        assert route(an_event(data={"code": "Na"}), [published("a", entry)]) == []

    def test_of_two_entries_that_match_the_first_is_the_trigger_and_one_run_starts(self):
        entries = [
            {"id": "high", "event": "observation.created", "selector": "event.data.value > `6`"},
            {"id": "any", "event": "observation.created", "start": "other"},
            {"id": "again", "event": "observation.created"},
        ]
        [low] = route(an_event(data={"value": 5}), [published("a", *entries)])
        [high] = route(an_event(data={"value": 7}), [published("a", *entries)])
        assert (low.trigger_id, low.start, low.route_match) == ("any", "other", "unfiltered")
        assert (high.trigger_id, high.start, high.route_match) == ("high", "done", "selector")

    def test_the_trigger_of_a_definition_with_one_entry_is_null(self):
        [delivery] = route(an_event(), [published("a")])
        assert delivery.trigger_id is None
        assert not delivery.keeps_spec


class TestDesignate:
    def test_a_workflow_alone_is_targeted_whatever_its_selectors_say(self):
        entry = {"id": "lab", "event": "observation.created", "selector": "`false`"}
        target = Target(workflow="a")
        delivery = designate(an_event(target), target, published("a", entry))
        assert (delivery.route_match, delivery.designated) == ("targeted", True)

    def test_a_version_is_pinned(self):
        target = Target(workflow="a", version=2)
        assert designate(an_event(target), target, published("a", version=2)).route_match == "pinned"

    def test_a_submitted_spec_is_pinned_and_kept_with_the_run(self):
        spec = dict(published("a").document)
        target = Target(workflow="draft", spec=spec)
        delivery = designate(an_event(target), target, None)
        assert (delivery.route_match, delivery.version, delivery.keeps_spec) == ("pinned", None, True)
        assert delivery.spec_hash == spec_hash(spec)

    def test_without_a_trigger_the_first_entry_for_the_type_is_taken_else_the_first(self):
        entries = [{"id": "one", "event": "x"}, {"id": "two", "event": "observation.created"}]
        target = Target(workflow="a")
        assert designate(an_event(target), target, published("a", *entries)).trigger_id == "two"
        event = an_event(target, event_type="unknown")
        assert designate(event, target, published("a", *entries)).trigger_id == "one"

    @pytest.mark.parametrize(
        ("target", "found", "pointer"),
        [
            (Target(workflow="a"), None, "/target/workflow"),
            (Target(workflow="a", version=9), None, "/target/version"),
            (Target(workflow="a", trigger="nope"), published("a"), "/target/trigger"),
        ],
    )
    def test_what_does_not_exist_is_named(self, target: Target, found: PublishedVersion | None, pointer: str):
        with pytest.raises(NotFound) as refused:
            designate(an_event(target), target, found)
        assert [error.pointer for error in refused.value.errors] == [pointer]


class TestPlan:
    def test_an_unknown_event_starts_every_delivery(self):
        plan = plan_deliveries("e1", [routed("a"), routed("b", at=AFTER), designated("c")], [])
        assert [delivery.slug for delivery in plan.start] == ["a", "b", "c"]
        assert not plan.duplicates
        assert not plan.anteriority

    def test_a_row_with_the_run_id_makes_that_delivery_a_duplicate(self):
        row = a_row("e1:a")
        plan = plan_deliveries("e1", [routed("a"), routed("b")], [row])
        assert plan.duplicates == (row,)
        assert [delivery.slug for delivery in plan.start] == ["b"]

    def test_redelivery_after_publish_starts_nothing(self):
        plan = plan_deliveries("e1", [routed("late", at=AFTER)], [a_row("e1:a")])
        assert not plan.start
        assert [delivery.slug for delivery in plan.anteriority] == ["late"]

    def test_a_version_published_at_the_very_moment_of_reception_comes_too_late(self):
        plan = plan_deliveries("e1", [routed("same", at=RECEIVED)], [a_row("e1:a")])
        assert not plan.start

    def test_a_workflow_published_before_the_first_reception_starts_on_redelivery(self):
        plan = plan_deliveries("e1", [routed("missed", at=BEFORE)], [a_row("e1:a")])
        assert [delivery.slug for delivery in plan.start] == ["missed"]

    def test_the_first_reception_is_the_oldest_row_of_the_event(self):
        rows = [a_row("e1:a", created_at=AFTER), a_row("e1:b", created_at=RECEIVED)]
        assert not plan_deliveries("e1", [routed("late", at=RECEIVED)], rows).start

    def test_designated_deliveries_are_not_affected_by_anteriority(self):
        plan = plan_deliveries("e1", [designated("late", at=AFTER)], [a_row("e1:a")])
        assert [delivery.slug for delivery in plan.start] == ["late"]

    def test_an_old_row_makes_the_event_a_duplicate_for_everyone_and_is_reported_alone(self):
        old, other = a_row("e1", source=None), a_row("e1:a")
        plan = plan_deliveries("e1", [routed("a"), routed("b"), designated("c")], [other, old])
        assert (plan.start, plan.duplicates, plan.anteriority) == ((), (old,), ())

    def test_a_row_with_the_events_id_that_names_a_source_is_no_old_row(self):
        row = a_row("e1", source="another")
        assert [d.slug for d in plan_deliveries("e1", [routed("a")], [row]).start] == ["a"]

    def test_an_event_that_now_reaches_nobody_is_reported_with_what_it_started(self):
        row = a_row("e1:a")
        assert plan_deliveries("e1", [], [row]).duplicates == (row,)
