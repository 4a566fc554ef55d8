"""A run's end is written once, whoever else is writing it and whoever died while doing so."""

from __future__ import annotations

import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest

from local.waiting import wait_until
from meridian.runs.model import RunFilter
from meridian.runs.reading import RunReader
from meridian.runs.snapshot import EMPTY
from tests.services.restate import running_restate
from tests.services.stage import ASK, END, VISIT, Stage, logged, staged

KILLED_BEFORE_THE_STATUS = """
import os, signal, sys
from meridian.restate.ingress import Ingress
from meridian.runs.store import SqlRunStore, open_run_store
from meridian.settlement.settling import Settlement

SqlRunStore.set_final_status = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
database_url, restate_url, run_id = sys.argv[1:]
store = open_run_store(database_url)
Settlement(store, Ingress(restate_url), (), lambda *_: None).settle(store.get(run_id).run, "sweep")
"""


def reader(stage: Stage) -> RunReader:
    return RunReader(stage.open_store(), stage.ingress, lambda *_: None, count=stage.counted)


def test_two_passes_and_four_readers_over_200_ended_runs(stage: Stage):
    runs = [stage.start(VISIT, END) for _ in range(200)]
    for run_id in runs:
        stage.until_ended(run_id)
    readers = [reader(stage) for _ in range(4)]
    passes = [stage.a_pass(lease=f"pass {number}") for number in range(2)]  # as if neither knew of the other

    def read(one: RunReader) -> None:
        for run_id in runs:
            assert one.detail(run_id).status == "completed"

    from meridian.settlement.deadline import Deadline

    with ThreadPoolExecutor(6) as pool:
        done = [pool.submit(read, one) for one in readers] + [pool.submit(one.run, Deadline(60)) for one in passes]
    for future in done:
        future.result()

    counted = stage.counted.take()
    assert sum(counted.values()) == 200
    assert {ending for ending, _ in counted} == {"completed"}
    assert all(stage.row(run_id).final_status == "completed" for run_id in runs)
    archived = [stage.store.get_snapshot(run_id) for run_id in runs]
    assert {snapshot["status"] for snapshot in archived if snapshot} == {"completed"}
    assert None not in archived
    assert sum(stage.sweep().rows.values()) == 0


def cut_between_archive_and_status(stage: Stage, run_id: str) -> None:
    """A process that settles the run and is killed after it wrote the archive."""
    command = [sys.executable, "-c", KILLED_BEFORE_THE_STATUS, stage.database_url, stage.ingress.url, run_id]
    environment = {"PYTHONPATH": "layers/meridian"}
    done = subprocess.run(command, check=False, capture_output=True, env=environment, text=True)
    assert done.returncode == -signal.SIGKILL, done.stderr
    assert stage.store.get_snapshot(run_id) is not None
    assert stage.row(run_id).final_status is None


def test_a_pass_completes_what_a_killed_process_left(stage: Stage):
    run_id = stage.start(VISIT, END)
    stage.until_ended(run_id)
    cut_between_archive_and_status(stage, run_id)

    stage.sweep()

    assert stage.row(run_id).final_status == "completed"
    assert stage.counted.take() == {("completed", "sweep"): 1}


def test_a_read_completes_what_a_killed_process_left(stage: Stage):
    run_id = stage.start(VISIT, END)
    stage.until_ended(run_id)
    cut_between_archive_and_status(stage, run_id)

    assert reader(stage).detail(run_id).status == "completed"

    assert stage.row(run_id).final_status == "completed"
    assert stage.counted.take() == {("completed", "read"): 1}


def test_an_archived_failure_tells_its_reason_also_when_restate_does_not_know_the_run(stage: Stage, caplog):
    run_id = stage.index()
    error = {"node": "last", "reason": "no bed is free", "code": 422}
    stage.store.save_snapshot(run_id, {**EMPTY, "status": "failed", "error": error})

    stage.sweep()

    assert stage.counted.take() == {("failed", "sweep"): 1}
    (line,) = logged(caplog)
    assert (line.message, line.levelname) == ("run en échec dans Restate : statut figé en échec", "WARNING")
    assert (line.runId, line.workflow, line.code, line.failure) == (run_id, "alert", 422, "no bed is free")


@pytest.mark.parametrize("archived", ["no JSON", "[]", "null"])
def test_an_archive_that_is_no_snapshot_keeps_no_run_from_its_end(stage: Stage, archived: str):
    run_id = stage.start(VISIT, END)
    stage.until_ended(run_id)
    stage.store.database.execute(
        "INSERT INTO run_snapshots (run_id, snapshot, archived_at) VALUES (:id, :snapshot, '')",
        {"id": run_id, "snapshot": archived},
    )

    stage.sweep()

    assert stage.row(run_id).final_status == "completed"
    served = reader(stage).detail(run_id).snapshot
    assert served is not None
    assert served["trace"][0]["node"] == "first"


def test_an_archived_stop_is_completed_too(stage: Stage):
    run_id = stage.start(VISIT, ASK, END, subjects={})
    stage.until(run_id, "suspended")
    stage.kill(run_id)
    cut_between_archive_and_status(stage, run_id)

    stage.sweep()

    assert stage.row(run_id).final_status == "failed"
    assert stage.counted.take() == {("killed", "sweep"): 1}


@pytest.fixture
def forgetful(tmp_path, postgres_url: str):
    """A stage whose Restate forgets a run ten seconds after its end, as it does after a day."""
    with (
        running_restate(tmp_path, cleanup_interval="1s") as server,
        staged(server, postgres_url, retention=timedelta(seconds=10)) as stage,
    ):
        yield stage


def forgotten(stage: Stage, run_id: str) -> bool:
    return stage.ingress.output(run_id).state == "unknown"


def test_an_archived_end_counts_also_when_restate_has_forgotten_the_run(forgetful: Stage):
    run_id = forgetful.start(VISIT, END)
    forgetful.until_ended(run_id)
    cut_between_archive_and_status(forgetful, run_id)
    assert wait_until(lambda: forgotten(forgetful, run_id), 30)

    forgetful.sweep()

    assert forgetful.row(run_id).final_status == "completed"
    assert forgetful.counted.take() == {("completed", "sweep"): 1}


def test_after_restates_retention_a_frozen_run_reads_as_before(forgetful: Stage):
    run_id = forgetful.start(VISIT, {"do": "fail", "node": "last", "code": 422, "reason": "no", "silent": False})
    spec = {"nodes": [{"id": "first"}, {"id": "last"}]}
    one = RunReader(forgetful.open_store(), forgetful.ingress, lambda *_: spec, count=forgetful.counted)
    forgetful.until_ended(run_id)
    forgetful.sweep()
    before, listed = one.detail(run_id), one.page(RunFilter(), None, 10)

    assert wait_until(lambda: forgotten(forgetful, run_id), 30)

    after = one.detail(run_id)
    assert (before.source, after.source) == ("live", "archive")
    assert (after.run, after.status, after.snapshot) == (before.run, before.status, before.snapshot)
    assert after.node_status == before.node_status == {"first": "completed", "last": "skipped"}
    assert one.page(RunFilter(), None, 10) == listed
