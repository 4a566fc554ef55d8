"""The pass: one at a time, oldest first, cut by its deadline, and fair to new runs all the same."""

from __future__ import annotations

import logging
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext

import pytest

from meridian.database import open_database
from meridian.settlement.deadline import Deadline
from meridian.settlement.lease import Lease
from meridian.settlement.sweep import SettlementPass
from tests.services.endpoint import serving
from tests.services.restate import running_restate
from tests.services.scripted import scripted_endpoint
from tests.services.stage import END, VISIT, WAIT, Stage, logged, old, staged

LIVE_ROWS = 5_000


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_a_new_run_behind_5000_that_never_end_is_frozen_within_two_short_passes(tmp_path, postgres_url):
    with running_restate(tmp_path) as server:
        with serving(scripted_endpoint([])) as url:
            server.register({"uri": url, "use_http_11": True})
        # that endpoint is gone again: what is started now is tried there, paused, and live for good
        with ThreadPoolExecutor(16) as senders:
            stage = Stage(server, postgres_url, [])
            runs = [*senders.map(lambda n: stage.start(WAIT, created_at=old(n)), range(LIVE_ROWS))]
            stage.close()
        with staged(server, postgres_url) as stage:
            new = stage.start(VISIT, END)
            stage.until_ended(new)
            started = time.monotonic()
            with ThreadPoolExecutor(16) as callers:
                states = {*callers.map(lambda run_id: stage.ingress.output(run_id).state, runs[:1_000])}
            a_fifth = time.monotonic() - started
            assert states == {"live"}
            one = stage.a_pass()

            results = [one.run(Deadline(a_fifth)) for _ in range(2)]

            assert stage.row(new).final_status == "completed"
            assert stage.counted.take() == {("completed", "sweep"): 1}
            assert not any(result.finished for result in results)
            assert sum(result["live"] for result in results) < LIVE_ROWS


def test_a_second_pass_does_nothing_while_one_is_at_work(stage: Stage):
    run_id = stage.start(VISIT, END)
    stage.until_ended(run_id)
    entered, leave = threading.Event(), threading.Event()

    @contextmanager
    def span():
        entered.set()
        leave.wait(30)
        yield

    lease = Lease(open_database(stage.database_url), "settlement")
    with ThreadPoolExecutor(1) as other:
        first = other.submit(SettlementPass(stage.settlement(), lease, span).run, Deadline(60))
        entered.wait(30)
        assert not stage.sweep().ran
        assert stage.row(run_id).final_status is None
        leave.set()
        assert first.result().ran
    assert stage.sweep().ran


def test_the_lease_of_a_pass_that_died_expires_by_itself(stage: Stage):
    dead = Lease(open_database(stage.database_url), "settlement", seconds=1)
    assert dead.take()

    assert not stage.sweep().ran
    time.sleep(1.1)
    assert stage.sweep().ran


def test_a_pass_that_lost_its_lease_stops(stage: Stage, caplog: pytest.LogCaptureFixture):
    for _ in range(2_000):
        stage.index()  # each costs the pass two calls
    lease = Lease(open_database(stage.database_url), "settlement", seconds=0.3)
    successor = Lease(open_database(stage.database_url), "settlement", seconds=60)
    steal = "UPDATE leases SET holder = 'another', expires_at = 9000000000000"
    stolen = threading.Timer(0.5, lambda: stage.store.database.execute(steal))
    stolen.start()

    result = SettlementPass(stage.settlement(), lease, nullcontext).run(Deadline(60))

    assert not result.finished
    assert "the settlement pass lost its lease" in [line.message for line in caplog.records]
    assert successor.position() is None  # it did not move the position of its successor either


def test_it_stops_between_two_rows_when_it_is_told_to_and_the_next_goes_on_from_there(stage: Stage):
    runs = [stage.index(created_at=old(number)) for number in range(300)]
    deadline = Deadline(60)
    threading.Timer(0.2, deadline.stop).start()

    first = stage.a_pass().run(deadline)
    frozen_first = {run_id for run_id in runs if stage.row(run_id).final_status}
    second = stage.sweep()

    assert not first.finished
    assert 0 < len(frozen_first) < 300
    assert frozen_first == set(runs[: len(frozen_first)])  # oldest first
    assert second.finished
    assert second["frozen"] == 300 - len(frozen_first)
    assert stage.counted.take() == {("lost", "sweep"): 300}


def test_one_span_and_nothing_logged_when_all_is_well(stage: Stage, caplog: pytest.LogCaptureFixture):
    run_id = stage.start(WAIT, END)
    stage.until(run_id, "waiting")
    caplog.set_level(logging.INFO, logger="meridian.runs")
    spans = []

    @contextmanager
    def span():
        spans.append("runs.settle")
        yield

    lease = Lease(open_database(stage.database_url), "settlement")
    SettlementPass(stage.settlement(), lease, span).run(Deadline(60))

    assert spans == ["runs.settle"]
    assert logged(caplog) == []
