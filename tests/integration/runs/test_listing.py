"""Lists: which runs a filter shows, in which order, and page by page; the same on PostgreSQL and SQLite."""

import random
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from meridian.runs.model import NewRun, Position, RunFilter, RunRow
from meridian.runs.store import SqlRunStore
from tests.integration.runs.runs import at, new_run

EVERYTHING = RunFilter()

# Ids that a pattern, a quoting mistake, an encoding or a prefix match would take for one another.
HOSTILE_IDS = [
    "p",
    "p-4",
    "p-42",
    "p-42 ",
    " p-42",
    "P-42",
    "p_42",
    "p%42",
    "%",
    "_",
    "p-42%",
    "p-42'",
    "p-42''",
    "' OR '1'='1",
    'p-42"',
    'p-42","ward":"w',
    "p-42\\",
    "p-42\n",
    "p\n-42",
    "p-42\t",
    ":subject_id",
    "%(subject_id)s",
    "é",
    "e\u0301",
    "🩸",
    "🩸🩸",
    "{}",
    "null",
    "42",
    "x" * 200,
]


def pages(store: SqlRunStore, chosen: RunFilter, limit: int) -> Iterator[list[RunRow]]:
    """The pages of a list, as its reader turns them."""
    after = None
    while page := store.find(chosen, after, limit):
        yield page
        after = Position(page[-1].created_at, page[-1].id)


def all_ids(store: SqlRunStore, chosen: RunFilter, limit: int = 200) -> list[str]:
    return [row.id for page in pages(store, chosen, limit) for row in page]


def test_the_newest_run_comes_first_and_within_an_instant_the_greatest_id(store: SqlRunStore) -> None:
    for event_id, minutes in (("b", 1), ("a", 2), ("c", 1), ("B", 1), ("é", 1), ("b-1", 1)):
        store.insert(new_run(event_id, "flow", minutes=minutes))

    assert all_ids(store, EVERYTHING) == ["a:flow", "é:flow", "c:flow", "b:flow", "b-1:flow", "B:flow"]


@pytest.fixture
def varied(store: SqlRunStore) -> SqlRunStore:
    """Runs of which each filter admits some."""
    for run in (
        new_run("1", "potassium", minutes=1, trigger_id="lab"),
        new_run("1", "admission", minutes=1, event_type="encounter.admitted", subjects={"ward": "p-42"}),
        new_run("2", "potassium", minutes=2, trigger_id="manual", subjects={"patient": "p-42", "ward": "w-1"}),
        new_run("3", "potassium", minutes=3, subjects={"patient": "p-4"}, workflow_file="k.json"),
        new_run("4", "k", minutes=4, event_type="encounter.admitted", subjects={}),
        new_run("5", "discharge", minutes=5, trigger_id="lab", workflow_file="potassium.json"),
    ):
        store.insert(run)
    store.set_final_status("1:potassium", "completed", at(10))
    store.set_final_status("2:potassium", "failed", at(10))
    return store


@pytest.mark.parametrize(
    ("chosen", "expected"),
    [
        ({}, ["5:discharge", "4:k", "3:potassium", "2:potassium", "1:potassium", "1:admission"]),
        ({"workflow": "potassium"}, ["3:potassium", "2:potassium", "1:potassium"]),
        ({"workflow": "potassium.json"}, ["5:discharge", "2:potassium", "1:potassium"]),
        ({"workflow": "k.json"}, ["4:k", "3:potassium"]),
        ({"workflow": "potass"}, []),
        ({"workflow": "POTASSIUM"}, []),
        ({"workflow": "potassium%"}, []),
        ({"trigger": "lab"}, ["5:discharge", "1:potassium"]),
        ({"event": "1"}, ["1:potassium", "1:admission"]),
        ({"event_type": "encounter.admitted"}, ["4:k", "1:admission"]),
        ({"status": "live"}, ["5:discharge", "4:k", "3:potassium", "1:admission"]),
        ({"status": "completed"}, ["1:potassium"]),
        ({"status": "failed"}, ["2:potassium"]),
        ({"subject": ("patient", "p-42")}, ["5:discharge", "2:potassium", "1:potassium"]),
        ({"subject": ("ward", "p-42")}, ["1:admission"]),
        ({"subject": ("patient", "w-1")}, []),
        ({"created_from": at(3)}, ["5:discharge", "4:k", "3:potassium"]),
        ({"created_to": at(3)}, ["2:potassium", "1:potassium", "1:admission"]),
        ({"created_from": at(2), "created_to": at(4)}, ["3:potassium", "2:potassium"]),
        ({"created_from": at(4), "created_to": at(4)}, []),
        ({"workflow": "potassium", "status": "live"}, ["3:potassium"]),
        ({"workflow": "potassium.json", "status": "live"}, ["5:discharge"]),
        ({"workflow": "potassium", "trigger": "lab"}, ["1:potassium"]),
        ({"workflow": "potassium.json", "trigger": "lab"}, ["5:discharge", "1:potassium"]),
        ({"event": "1", "workflow": "admission"}, ["1:admission"]),
        ({"event": "1", "trigger": "lab"}, ["1:potassium"]),
        ({"event_type": "encounter.admitted", "status": "live", "created_to": at(4)}, ["1:admission"]),
        ({"subject": ("patient", "p-42"), "workflow": "potassium"}, ["2:potassium", "1:potassium"]),
        (
            {"subject": ("patient", "p-42"), "workflow": "potassium.json"},
            ["5:discharge", "2:potassium", "1:potassium"],
        ),
        ({"subject": ("patient", "p-42"), "status": "failed"}, ["2:potassium"]),
        ({"subject": ("patient", "p-42"), "event": "2"}, ["2:potassium"]),
        ({"subject": ("patient", "p-42"), "created_from": at(2), "created_to": at(5)}, ["2:potassium"]),
        (
            {
                "workflow": "potassium",
                "trigger": "manual",
                "event": "2",
                "event_type": "observation.created",
                "status": "failed",
                "subject": ("ward", "w-1"),
                "created_from": at(2),
                "created_to": at(3),
            },
            ["2:potassium"],
        ),
    ],
    ids=lambda value: "+".join(value) if isinstance(value, dict) else "",
)
def test_filters_hold_together_and_compare_exactly(
    varied: SqlRunStore, chosen: dict[str, Any], expected: list[str]
) -> None:
    assert all_ids(varied, RunFilter(**chosen)) == expected
    assert all_ids(varied, RunFilter(**chosen), limit=1) == expected


def test_the_limit_counts_rows_that_the_filter_admits(store: SqlRunStore) -> None:
    for number in range(30):
        store.insert(new_run(str(number), "rare" if number < 3 else "common", minutes=number))

    assert [row.id for row in store.find(RunFilter(workflow="rare"), None, 2)] == ["2:rare", "1:rare"]


@pytest.mark.parametrize(
    "chosen",
    [
        EVERYTHING,
        RunFilter(workflow="potassium-alert"),
        RunFilter(workflow="potassium-alert.json"),
        RunFilter(subject=("patient", "p-42")),
        RunFilter(trigger="lab", status="live"),
        RunFilter(event_type="observation.created", created_from=at(0), created_to=at(1)),
    ],
    ids=lambda chosen: "+".join(name for name, value in chosen._asdict().items() if value is not None) or "all",
)
def test_a_thousand_runs_of_one_instant_come_each_once_in_pages_of_seven(store: SqlRunStore, chosen: RunFilter) -> None:
    numbers = list(range(1000))
    random.Random(7).shuffle(numbers)
    with store.database.transaction():
        for number in numbers:
            store.insert(new_run(f"event-{number}", trigger_id="lab"))

    turned = list(pages(store, chosen, 7))

    assert [len(page) for page in turned] == [7] * 142 + [6]
    assert sorted(row.id for page in turned for row in page) == sorted(
        f"event-{number}:potassium-alert" for number in range(1000)
    )


def test_pages_are_complete_while_runs_are_written(store: SqlRunStore) -> None:
    for number in range(20):
        store.insert(new_run(str(number), minutes=number))
    seen = []
    for newer, page in enumerate(pages(store, EVERYTHING, 3)):
        seen += [row.id for row in page]
        store.insert(new_run(f"newer-{newer}", minutes=100 + newer))

    assert seen == [f"{number}:potassium-alert" for number in reversed(range(20))]


@pytest.mark.parametrize("kind", ["patient", "p:q", "%", "kind's"])
def test_a_subject_is_matched_exactly(store: SqlRunStore, kind: str) -> None:
    for number, subject_id in enumerate(HOSTILE_IDS):
        store.insert(new_run(f"event-{number}", "flow", subjects={kind: subject_id, "other": "p-42"}))

    for number, subject_id in enumerate(HOSTILE_IDS):
        assert all_ids(store, RunFilter(subject=(kind, subject_id))) == [f"event-{number}:flow"]
        assert all_ids(store, RunFilter(subject=(kind.upper() + "x", subject_id))) == []


def test_only_text_is_a_subject(store: SqlRunStore) -> None:
    store.insert(new_run("1", "flow", subjects={"patient": 42, "ward": None, "bed": "b", "list": ["x"]}))
    for kind, subject_id in (("patient", "42"), ("ward", "null"), ("list", '["x"]'), ("list", "x")):
        assert all_ids(store, RunFilter(subject=(kind, subject_id))) == []
    assert all_ids(store, RunFilter(subject=("bed", "b"))) == ["1:flow"]


# The list against a model of it in plain Python.

SLUGS = st.sampled_from(["a", "b", "c-1"])
TYPES = st.sampled_from(["lab", "admission"])
SUBJECT_IDS = st.sampled_from(["1", "11", "%", "_"])
MINUTES = st.integers(0, 3)
STATUSES = st.sampled_from([None, "completed", "failed"])

RUNS = st.lists(
    st.tuples(
        st.builds(
            new_run,
            event_id=st.sampled_from(["e1", "e2", "E2", "e_", "e10"]),
            slug=SLUGS,
            minutes=MINUTES,
            workflow_file=st.sampled_from(["a.json", "b.json", "old.yaml"]),
            subjects=st.dictionaries(st.sampled_from(["patient", "ward"]), SUBJECT_IDS),
            event_type=TYPES,
            trigger_id=st.sampled_from([None, "lab", "manual"]),
        ),
        STATUSES,
    ),
    max_size=12,
    unique_by=lambda pair: pair[0].id,
)
FILTERS = st.builds(
    RunFilter,
    workflow=st.none() | SLUGS | st.sampled_from(["a.json", "b.json", "old.yaml"]),
    trigger=st.none() | st.sampled_from(["lab", "manual"]),
    event=st.none() | st.sampled_from(["e1", "e2", "e10"]),
    event_type=st.none() | TYPES,
    status=st.none() | st.sampled_from(["live", "completed", "failed"]),
    subject=st.none() | st.tuples(st.sampled_from(["patient", "ward"]), SUBJECT_IDS),
    created_from=st.none() | MINUTES.map(at),
    created_to=st.none() | MINUTES.map(at),
)


def admits(chosen: RunFilter, run: NewRun, status: str | None) -> bool:
    return (
        (chosen.workflow is None or chosen.workflow in (run.workflow_slug, run.workflow_file))
        and chosen.trigger in (None, run.trigger_id)
        and chosen.event in (None, run.source_event_id)
        and chosen.event_type in (None, run.event_type)
        and chosen.status in (None, status or "live")
        and (chosen.subject is None or run.subjects.get(chosen.subject[0]) == chosen.subject[1])
        and (chosen.created_from is None or run.created_at >= chosen.created_from)
        and (chosen.created_to is None or run.created_at < chosen.created_to)
    )


@settings(
    max_examples=150,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(runs=RUNS, filters=st.lists(FILTERS, min_size=1, max_size=6), limit=st.integers(1, 5))
def test_a_list_is_what_filtering_and_sorting_would_make_it(
    store: SqlRunStore, runs: list[tuple[NewRun, str | None]], filters: list[RunFilter], limit: int
) -> None:
    store.database.execute("DELETE FROM runs")
    store.database.execute("DELETE FROM run_subjects")
    for run, status in runs:
        assert store.insert(run)
        if status is not None:
            store.set_final_status(run.id, status, run.created_at)  # type: ignore[arg-type]

    newest_first = sorted(runs, key=lambda pair: (pair[0].created_at, pair[0].id), reverse=True)
    for chosen in [*filters, *(each._replace(subject=None, workflow=None) for each in filters)]:
        expected = [run.id for run, status in newest_first if admits(chosen, run, status)]
        assert all_ids(store, chosen, limit) == expected
