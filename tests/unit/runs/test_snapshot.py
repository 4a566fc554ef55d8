"""What follows from a snapshot."""

from typing import Any

import pytest

from meridian.runs.snapshot import EMPTY, ended_at, final_status_of, holds_state, node_statuses, served_snapshot

SPEC = {"nodes": [{"id": name} for name in ("first", "ask", "pause", "last")]}


def a_snapshot(status: str = "running", *trace: tuple[str, str], **more: Any) -> dict[str, Any]:
    entries = [{"node": node, "status": state, "endedAt": f"at-{node}"} for node, state in trace]
    return EMPTY | {"status": status, "trace": entries} | more


@pytest.mark.parametrize(
    ("status", "final"),
    [
        ("running", None),
        ("suspended", None),
        ("waiting", None),
        ("completed", "completed"),
        ("failed", "failed"),
        ("odd", None),
    ],
)
def test_only_completed_and_failed_are_terminal(status: str, final: str | None):
    assert final_status_of(a_snapshot(status)) == final


def test_no_snapshot_is_not_terminal_and_holds_nothing():
    assert final_status_of(None) is None
    assert not holds_state(None)


@pytest.mark.parametrize(
    ("snapshot", "holds"),
    [
        (EMPTY, False),
        (a_snapshot("running", ("first", "completed")), True),
        (a_snapshot("suspended", pending={"id": "ask", "node": "ask"}), True),
        (a_snapshot("waiting", waiting={"id": "pause", "node": "pause"}), True),
        (a_snapshot("completed"), True),
    ],
)
def test_the_placeholder_of_a_run_that_wrote_nothing_holds_no_state(snapshot: dict[str, Any], holds: bool):
    assert holds_state(snapshot) is holds


def test_the_end_is_that_of_the_last_node_that_ended():
    snapshot = a_snapshot("completed", ("first", "completed"), ("last", "completed"))
    snapshot["trace"].append({"node": "x", "status": "running", "endedAt": None})
    assert ended_at(snapshot) == "at-last"
    assert ended_at(EMPTY) is None


def test_a_run_with_a_terminal_status_serves_no_pending_and_no_waiting():
    waits = a_snapshot("suspended", pending={"node": "ask"}, waiting={"node": "pause"})
    served = served_snapshot(waits, "failed")
    assert (served["status"], served["pending"], served["waiting"]) == ("failed", None, None)
    assert served_snapshot(waits, None) == waits


class TestNodeStatuses:
    def test_a_live_run_shows_where_it_is(self):
        snapshot = a_snapshot("suspended", ("first", "completed"), pending={"node": "ask"})
        assert node_statuses(SPEC, snapshot) == {
            "first": "completed",
            "ask": "suspended",
            "pause": "idle",
            "last": "idle",
        }

    def test_a_waiting_node_is_shown_as_such(self):
        assert node_statuses(SPEC, a_snapshot("waiting", waiting={"node": "pause"}))["pause"] == "waiting"

    def test_a_killed_run_reads_like_a_processed_cancel(self):
        suspended = a_snapshot("suspended", ("first", "completed"), pending={"node": "ask"})
        statuses = node_statuses(SPEC, served_snapshot(suspended, "failed"))
        assert statuses == {"first": "completed", "ask": "skipped", "pause": "skipped", "last": "skipped"}

    def test_a_node_at_work_when_its_run_ended_failed(self):
        snapshot = a_snapshot("running", ("first", "completed"), ("last", "running"))
        assert node_statuses(SPEC, snapshot)["last"] == "running"
        assert node_statuses(SPEC, served_snapshot(snapshot, "failed"))["last"] == "failed"

    def test_of_several_visits_the_last_counts(self):
        snapshot = a_snapshot("running", ("first", "failed"), ("first", "completed"))
        assert node_statuses(SPEC, snapshot)["first"] == "completed"

    def test_without_a_spec_the_trace_is_what_is_known(self):
        assert node_statuses(None, a_snapshot("running", ("first", "completed"))) == {"first": "completed"}
