"""The contract of the run store, the same on PostgreSQL and SQLite."""

import random
import threading
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from typing import Any

import pytest

from meridian.runs.model import EventRow, EventVolume, Position, RunDetail, RunFilter, RunRow
from meridian.runs.store import SqlRunStore, open_run_store
from tests.integration.runs.runs import RESTATE_URL, at, new_run

SNAPSHOT: dict[str, Any] = {"status": "completed", "trace": [], "pending": None, "waiting": None, "error": None}
EVERYTHING = RunFilter()


def insert_row(store: SqlRunStore, run_id: str, **columns: Any) -> None:
    """A row as an earlier release, or a hand, wrote it."""
    row = {
        "id": run_id,
        "service": "meridianWorkflow",
        "workflow_name": "Old",
        "event": '{"type":"admission"}',
        "created_at": at(0),
        **columns,
    }
    names = ", ".join(row)
    store.database.execute(f"INSERT INTO runs ({names}) VALUES ({', '.join(f':{name}' for name in row)})", row)


def ids(rows: list[RunRow]) -> list[str]:
    return [row.id for row in rows]


def test_a_run_is_read_as_it_was_written(store: SqlRunStore) -> None:
    run = new_run(
        spec_json='{"name":"draft"}',
        spec_version=None,
        trigger_id="lab",
        route_match="pinned",
        event={"data": {"value": Decimal("6.10"), "unit": "µmol", "note": "🩸\x00\n"}},
        subjects={"patient": "p-42", "ward": "Zürich 🏥"},
    )

    assert store.insert(run)

    assert store.get(run.id) == RunDetail(
        run=RunRow(
            id="obs-1:potassium-alert",
            service="meridianWorkflow",
            workflow_name="Potassium alert",
            created_at=at(0),
            final_status=None,
            workflow_file="potassium-alert.json",
            updated_at=at(0),
            workflow_slug="potassium-alert",
            spec_version=None,
            spec_hash="0f" * 32,
            subjects_json='{"patient":"p-42","ward":"Zürich 🏥"}',
            source_event_id="obs-1",
            route_match="pinned",
            event_type="observation.created",
            restate_url=RESTATE_URL,
            journal_format=1,
            trigger_id="lab",
        ),
        event=run.event,
        spec_json='{"name":"draft"}',
    )


def test_the_digits_of_a_measurement_are_kept(store: SqlRunStore) -> None:
    store.insert(new_run(event={"data": {"value": Decimal("6.10")}}))
    detail = store.get("obs-1:potassium-alert")
    assert detail is not None
    assert str(detail.event["data"]["value"]) == "6.10"


def test_an_unknown_run_is_none(store: SqlRunStore) -> None:
    store.insert(new_run())
    assert store.get("obs-1") is None
    assert store.get("obs-1:potassium-alert%") is None


def test_the_first_writer_of_a_run_wins(store: SqlRunStore) -> None:
    first = new_run(subjects={"patient": "first"})

    assert store.insert(first)
    assert not store.insert(new_run(subjects={"patient": "second"}, minutes=5))

    detail = store.get(first.id)
    assert detail is not None
    assert detail.run.subjects == {"patient": "first"}
    assert detail.run.created_at == at(0)
    assert store.find(RunFilter(subject=("patient", "second")), None, 10) == []


def test_of_threads_that_write_one_run_one_writes_it(store: SqlRunStore, database_url: str) -> None:
    stores = [open_run_store(database_url) for _ in range(4)]
    together = threading.Barrier(8)

    def insert(number: int) -> bool:
        together.wait()
        return stores[number % 4].insert(new_run(subjects={"patient": str(number)}))

    with ThreadPoolExecutor(8) as pool:
        assert sorted(pool.map(insert, range(8))) == [False] * 7 + [True]
    for each in stores:
        each.close()


@pytest.mark.parametrize("stored", ["cancelled", "", "COMPLETED", "null"])
def test_a_final_status_that_is_neither_literal_reads_as_null(store: SqlRunStore, stored: str) -> None:
    insert_row(store, "old", final_status=stored)

    detail = store.get("old")
    (listed,) = store.find(EVERYTHING, None, 10)

    assert detail is not None
    assert detail.run.final_status is None
    assert listed.final_status is None
    # and such a run is live: in the filter, and for whoever freezes it
    assert ids(store.find(RunFilter(status="live"), None, 10)) == ["old"]
    assert store.set_final_status("old", "failed", at(9))
    assert ids(store.find(RunFilter(status="failed"), None, 10)) == ["old"]


def test_a_row_of_an_earlier_release_reads_with_nulls(store: SqlRunStore) -> None:
    insert_row(store, "old", workflow_file="admission.json", subjects="not JSON")
    (row,) = store.find(EVERYTHING, None, 10)
    assert (row.slug, row.subjects, row.trigger_id, row.updated_at) == ("admission", {}, None, None)


def test_the_first_snapshot_is_the_one_that_is_kept(store: SqlRunStore) -> None:
    later = {**SNAPSHOT, "status": "failed"}

    assert store.get_snapshot("obs-1:potassium-alert") is None
    assert store.save_snapshot("obs-1:potassium-alert", SNAPSHOT)
    assert not store.save_snapshot("obs-1:potassium-alert", later)

    assert store.get_snapshot("obs-1:potassium-alert") == SNAPSHOT


def test_a_snapshot_keeps_its_digits_and_its_text(store: SqlRunStore) -> None:
    output = {"value": Decimal("6.10"), "note": "№ 🩸 \x00 % :name"}
    store.save_snapshot("run", {**SNAPSHOT, "trace": [{"node": "a", "output": output}]})
    kept = store.get_snapshot("run")
    assert kept is not None
    assert kept["trace"][0]["output"] == output
    assert str(kept["trace"][0]["output"]["value"]) == "6.10"


def test_a_frozen_status_does_not_change(store: SqlRunStore) -> None:
    store.insert(new_run())

    assert store.set_final_status("obs-1:potassium-alert", "completed", at(5))
    assert not store.set_final_status("obs-1:potassium-alert", "failed", at(6))
    assert not store.set_final_status("obs-1:potassium-alert", "completed", at(7))

    detail = store.get("obs-1:potassium-alert")
    assert detail is not None
    assert (detail.run.final_status, detail.run.updated_at) == ("completed", at(5))


def test_the_freeze_of_an_unknown_run_changes_nothing(store: SqlRunStore) -> None:
    assert not store.set_final_status("nobody", "completed", at(5))


def test_a_race_to_freeze_has_one_winner(store: SqlRunStore, database_url: str) -> None:
    runs = [new_run(f"obs-{number}") for number in range(20)]
    for run in runs:
        store.insert(run)
    stores = [open_run_store(database_url) for _ in range(4)]
    together = threading.Barrier(8)

    def freeze_all(number: int) -> list[str | None]:
        ending = ("completed", "failed")[number % 2]
        won = []
        for run in runs:
            together.wait()
            won.append(ending if stores[number % 4].set_final_status(run.id, ending, at(number)) else None)  # type: ignore[arg-type]
        return won

    with ThreadPoolExecutor(8) as pool:
        endings = list(pool.map(freeze_all, range(8)))

    for run, claims in zip(runs, zip(*endings, strict=True), strict=True):
        (winner,) = [ending for ending in claims if ending is not None]
        detail = store.get(run.id)
        assert detail is not None
        assert detail.run.final_status == winner
    for each in stores:
        each.close()


def test_the_rows_of_an_event_are_found_by_its_id_and_by_run_id(store: SqlRunStore) -> None:
    started = new_run("obs-1", "potassium-alert", minutes=2)
    other = new_run("obs-1", "admission", minutes=1, route_match="targeted", trigger_id="lab")
    for run in (started, other, new_run("obs-10"), new_run("obs-2")):
        store.insert(run)
    insert_row(store, "obs-1:by-id-alone", created_at=at(3))

    rows = store.event_rows("obs-1", ["obs-1:potassium-alert", "obs-1:by-id-alone", "obs-1:unknown"])

    assert rows == [
        EventRow("obs-1:admission", "obs-1", at(1), "admission", "Admission", "targeted", "lab"),
        EventRow("obs-1:potassium-alert", "obs-1", at(2), "potassium-alert", "Potassium alert", "selector", None),
        EventRow("obs-1:by-id-alone", None, at(3), None, "Old", None, None),
    ]


def test_the_old_row_of_an_event_is_the_one_whose_id_it_is_and_that_names_no_event(store: SqlRunStore) -> None:
    insert_row(store, "obs-1")
    insert_row(store, "obs-2", source_event_id="another")

    assert [row.id for row in store.event_rows("obs-1", ["obs-1:admission"])] == ["obs-1"]
    assert store.event_rows("obs-2", []) == []


@pytest.mark.parametrize("event_id", ["obs_1", "obs%", "OBS-1", "obs-1 ", "obs-1'; --"])
def test_the_rows_of_an_event_are_those_of_exactly_that_id(store: SqlRunStore, event_id: str) -> None:
    store.insert(new_run("obs-1"))
    assert store.event_rows(event_id, [f"{event_id}:potassium-alert"]) == []


def test_the_rows_of_an_event_of_two_hundred_workflows_come_in_one_query(store: SqlRunStore) -> None:
    runs = [new_run("obs-1", f"flow-{number:03}") for number in range(200)]
    for run in runs:
        store.insert(run)
    found = store.event_rows("obs-1", (run.id for run in runs))
    assert [row.id for row in found] == [run.id for run in runs]


def test_the_volume_counts_distinct_events_by_type_and_utc_day(store: SqlRunStore) -> None:
    for event_id, slug, created_at, event_type in (
        ("a", "one", "2026-11-28T23:59:59.999Z", "lab"),
        ("b", "one", "2026-11-29T00:00:00.000Z", "lab"),
        ("b", "two", "2026-11-29T00:00:00.001Z", "lab"),
        ("c", "one", "2026-11-29T23:59:59.999Z", "lab"),
        ("d", "one", "2026-11-29T12:00:00.000Z", "admission"),
        ("e", "one", "2026-11-21T12:00:00.000Z", "lab"),
    ):
        store.insert(new_run(event_id, slug, created_at=created_at, event_type=event_type))
    insert_row(store, "old", created_at="2026-11-29T12:00:00.000Z")

    assert store.event_volume("2026-11-22") == [
        EventVolume("admission", "2026-11-29", 1),
        EventVolume("lab", "2026-11-28", 1),
        EventVolume("lab", "2026-11-29", 2),
    ]


def test_the_restate_of_a_run_can_be_named_later(store: SqlRunStore) -> None:
    insert_row(store, "old")
    store.set_restate_url("old", RESTATE_URL)
    detail = store.get("old")
    assert detail is not None
    assert detail.run.restate_url == RESTATE_URL


def test_live_rows_are_walked_by_restate_in_either_direction(store: SqlRunStore) -> None:
    for number in range(6):
        own = number % 2 == 0
        store.insert(new_run(f"obs-{number}", "a", minutes=number, restate_url=RESTATE_URL if own else "https://other"))
    insert_row(store, "nowhere", created_at=at(9))
    store.set_final_status("obs-2:a", "completed", at(10))

    def walk(**how: Any) -> list[str]:
        return ids(store.live(RESTATE_URL, **{"limit": 10, **how}))

    assert walk() == ["obs-0:a", "obs-4:a"]
    assert walk(newest_first=True) == ["obs-4:a", "obs-0:a"]
    assert walk(own=False) == ["obs-1:a", "obs-3:a", "obs-5:a", "nowhere"]
    assert walk(own=False, limit=2) == ["obs-1:a", "obs-3:a"]
    assert walk(own=False, after=Position(at(3), "obs-3:a")) == ["obs-5:a", "nowhere"]
    assert walk(newest_first=True, after=Position(at(4), "obs-4:a")) == ["obs-0:a"]


def test_oldest_live_run_is_the_first_without_an_end(store: SqlRunStore) -> None:
    assert store.oldest_live() is None
    for number in (2, 0, 1):
        store.insert(new_run(f"obs-{number}", "a", minutes=number))
    store.set_final_status("obs-0:a", "failed", at(10))

    assert store.oldest_live() == at(1)


def test_ping_returns_when_the_database_answers(store: SqlRunStore) -> None:
    store.ping()


def test_a_closed_store_opens_itself_again(store: SqlRunStore) -> None:
    store.insert(new_run())
    store.close()
    assert ids(store.find(EVERYTHING, None, 10)) == ["obs-1:potassium-alert"]


def test_an_index_is_kept_when_it_is_opened_again(store: SqlRunStore, database_url: str) -> None:
    store.insert(new_run())
    again = open_run_store(database_url)
    assert ids(again.find(EVERYTHING, None, 10)) == ["obs-1:potassium-alert"]
    again.close()


def test_the_longest_run_that_ingestion_accepts_fits_every_index(store: SqlRunStore) -> None:
    # given four-byte characters that do not compress, at the limits of each field of an event
    letters = random.Random(7)

    def longest(length: int) -> str:
        return "".join(chr(letters.randrange(0x20000, 0x2A000)) for _ in range(length))

    run = new_run(
        longest(200),
        "s" * 100,
        event_type=longest(200),
        trigger_id=longest(64),
        subjects={"k" * 64: longest(256)},
        workflow_file=f"{longest(100)}.json",
    )

    assert store.insert(run)
    for ending in ("live", "failed"):
        if ending == "failed":
            store.set_final_status(run.id, "failed", at(1))
        for chosen in (
            RunFilter(event_type=run.event_type),
            RunFilter(trigger=run.trigger_id),
            RunFilter(workflow=run.workflow_file),
            RunFilter(subject=("k" * 64, run.subjects["k" * 64])),
        ):
            assert ids(store.find(chosen._replace(status=ending), None, 5)) == [run.id]
