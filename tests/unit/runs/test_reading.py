"""Reading runs: what the list and the detail serve, and what they freeze."""

import time
from collections.abc import Iterator
from typing import Any

import pytest

from meridian.database import ensure_schema, open_database
from meridian.errors import NotFound, RestateUnavailable
from meridian.restate.ingress import OutputAnswer
from meridian.runs import reading
from meridian.runs.model import FinalRunStatus, NewRun, RunFilter, RunRow
from meridian.runs.reading import RunReader
from meridian.runs.schema import RUN_SCHEMA
from meridian.runs.snapshot import EMPTY, Snapshot
from meridian.runs.store import SqlRunStore

COMPLETED = EMPTY | {"status": "completed", "trace": [{"node": "a", "status": "completed", "endedAt": "T9"}]}
FAILED = EMPTY | {"status": "failed", "error": {"node": "a", "reason": "r"}}
SUSPENDED = EMPTY | {"status": "suspended", "pending": {"id": "ask", "node": "ask"}}
SPEC = {"nodes": [{"id": "a"}, {"id": "ask"}]}


class FakeRestate:
    """Answers `getRun` and `output` from tables; a run in neither is out of reach."""

    url = "http://restate"

    def __init__(self) -> None:
        self.snapshots: dict[str, Any] = {}
        self.outputs: dict[str, str] = {}
        self.seconds = 0.0
        self.asked: list[str] = []

    def get_run(self, run_id: str, timeout: float | None = None) -> Any:
        self.asked.append(run_id)
        time.sleep(min(self.seconds, timeout or 30))
        if run_id not in self.snapshots or self.seconds > (timeout or 30):
            raise RestateUnavailable("Restate is out of reach.")
        return self.snapshots[run_id]

    def output(self, run_id: str, timeout: float | None = None) -> OutputAnswer:
        return OutputAnswer(self.outputs[run_id])  # type: ignore[arg-type]


class World:
    def __init__(self) -> None:
        database = open_database("sqlite::memory:")
        ensure_schema(database, RUN_SCHEMA)
        self.store = SqlRunStore(database)
        self.restate = FakeRestate()
        self.counted: list[tuple[str, str]] = []
        self.settled: FinalRunStatus | None = None
        self.asked_to_settle: list[str] = []
        self.reader = RunReader(
            self.store,
            self.restate,
            lambda slug, version: SPEC if (slug, version) == ("w", 1) else None,
            count=lambda ending, source: self.counted.append((ending, source)),
            settle=self._settle,
        )

    def _settle(self, run: RunRow, snapshot: Snapshot) -> FinalRunStatus | None:
        self.asked_to_settle.append(run.id)
        if self.settled is not None:
            self.store.save_snapshot(run.id, snapshot)
        return self.settled

    def started(self, run_id: str, snapshot: Any = None, *, number: int = 0, spec_json: str | None = None) -> str:
        at = f"2026-11-30T00:00:00.{number:03d}Z"
        self.store.insert(
            NewRun(
                run_id,
                "W",
                "w.json",
                "w",
                1,
                "h",
                spec_json,
                {},
                {"eventId": "e"},
                "e",
                "unfiltered",
                "t",
                at,
                "r",
                None,
            )
        )
        if snapshot is not None:
            self.restate.snapshots[run_id] = snapshot
        return run_id

    def statuses(self) -> dict[str, str]:
        page = self.reader.page(RunFilter(), None, 50)
        return {listed.run.id: listed.status for listed in page.runs}


@pytest.fixture
def world() -> Iterator[World]:
    made = World()
    yield made
    made.store.close()


class TestList:
    def test_a_frozen_row_is_served_without_asking_restate(self, world: World):
        run = world.started("frozen", SUSPENDED)
        world.store.set_final_status(run, "failed", "T")
        assert world.statuses() == {"frozen": "failed"}
        assert world.restate.asked == []

    def test_a_live_row_has_the_status_of_its_snapshot(self, world: World):
        world.started("r", SUSPENDED)
        assert world.statuses() == {"r": "suspended"}

    @pytest.mark.parametrize(("snapshot", "status"), [(COMPLETED, "completed"), (FAILED, "failed")])
    def test_a_terminal_snapshot_is_archived_frozen_and_counted_once(
        self, world: World, snapshot: dict[str, Any], status: str
    ):
        run = world.started("r", snapshot)
        assert world.statuses() == {"r": status}
        assert world.statuses() == {"r": status}
        assert world.store.get_snapshot(run) == snapshot
        assert world.counted == [(status, "read")]

    def test_a_row_is_frozen_at_the_time_its_last_node_ended(self, world: World):
        run = world.started("r", COMPLETED)
        world.statuses()
        detail = world.store.get(run)
        assert detail is not None
        assert detail.run.updated_at == "T9"

    def test_what_restate_does_not_answer_is_unknown_and_stays_live(self, world: World):
        world.started("gone")
        world.started("here", SUSPENDED, number=1)
        assert world.statuses() == {"here": "suspended", "gone": "unknown"}
        assert world.counted == []

    def test_the_list_answers_within_its_budget_while_restate_hangs(
        self, world: World, monkeypatch: pytest.MonkeyPatch
    ):
        monkeypatch.setattr(reading, "READ_BUDGET_SECONDS", 0.3)
        world.restate.seconds = 5
        for number in range(60):
            world.started(f"r{number}", SUSPENDED, number=number)
        began = time.monotonic()
        statuses = world.statuses()
        assert time.monotonic() - began < 1
        assert set(statuses.values()) == {"unknown"}

    @pytest.mark.parametrize(("output", "status"), [("live", "running"), ("unknown", "unknown")])
    def test_the_placeholder_is_running_only_when_its_invocation_lives(self, world: World, output: str, status: str):
        world.restate.outputs[world.started("r", EMPTY)] = output
        assert world.statuses() == {"r": status}
        assert world.counted == []

    def test_pages_follow_each_other(self, world: World):
        for number in range(5):
            world.started(f"r{number}", SUSPENDED, number=number)
        first = world.reader.page(RunFilter(), None, 3)
        second = world.reader.page(RunFilter(), first.next, 3)
        assert [listed.run.id for listed in (*first.runs, *second.runs)] == ["r4", "r3", "r2", "r1", "r0"]
        assert second.next is None


class TestDetail:
    def test_an_unknown_run_is_not_found(self, world: World):
        with pytest.raises(NotFound):
            world.reader.detail("nobody")

    def test_a_live_run_is_served_as_restate_tells(self, world: World):
        view = world.reader.detail(world.started("r", SUSPENDED))
        assert (view.status, view.source, view.spec) == ("suspended", "live", SPEC)
        assert view.snapshot == SUSPENDED
        assert view.node_status == {"a": "idle", "ask": "suspended"}

    def test_the_spec_is_the_submitted_one_where_the_run_keeps_one(self, world: World):
        view = world.reader.detail(world.started("r", SUSPENDED, spec_json='{"nodes":[{"id":"own"}]}'))
        assert view.spec == {"nodes": [{"id": "own"}]}

    def test_reading_an_end_freezes_it(self, world: World):
        view = world.reader.detail(world.started("r", COMPLETED))
        assert (view.status, view.run.final_status, view.source) == ("completed", "completed", "live")
        assert world.counted == [("completed", "read")]

    def test_a_suspended_run_is_settled_and_served_as_it_ended(self, world: World):
        world.settled = "failed"
        view = world.reader.detail(world.started("r", SUSPENDED))
        assert world.asked_to_settle == ["r"]
        assert (view.status, view.source) == ("failed", "archive")
        assert view.snapshot is not None
        assert view.snapshot["pending"] is None
        assert view.node_status["ask"] == "skipped"

    def test_past_the_retention_the_archive_answers(self, world: World):
        run = world.started("r", EMPTY)
        world.store.save_snapshot(run, COMPLETED)
        world.store.set_final_status(run, "completed", "T")
        view = world.reader.detail(run)
        assert (view.status, view.source, view.snapshot) == ("completed", "archive", COMPLETED)

    def test_while_restate_is_down_a_frozen_run_is_served_from_the_archive(self, world: World):
        run = world.started("r")
        world.store.save_snapshot(run, FAILED)
        world.store.set_final_status(run, "failed", "T")
        view = world.reader.detail(run)
        assert (view.status, view.source) == ("failed", "archive")

    def test_while_restate_is_down_a_live_run_is_unknown(self, world: World):
        view = world.reader.detail(world.started("r"))
        assert (view.status, view.source, view.snapshot) == ("unknown", None, None)
        assert view.event == {"eventId": "e"}
