"""The pass: one at a time, oldest first, cut by its deadline, and fair to new runs all the same."""

from __future__ import annotations

import logging
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext

import httpx
import pytest

from meridian.database import open_database
from meridian.restate.ingress import Ingress
from meridian.runs.model import Position
from meridian.settlement.deadline import Deadline
from meridian.settlement.lease import Lease
from meridian.settlement.position import WalkPosition
from meridian.settlement.sweep import GRACE_SECONDS, SettlementPass
from tests.services.endpoint import serving
from tests.services.restate import running_restate
from tests.services.scripted import scripted_endpoint
from tests.services.stage import ASK, END, VISIT, WAIT, Stage, logged, old, staged

LIVE_ROWS = 5_000
# However fast the machine, two such passes have no time for all those rows: 16 threads make 3,840 such calls.
CALL_SECONDS = 0.01
PASS_SECONDS = 1.2


def slow_ingress(stage: Stage, seconds: float) -> Ingress:
    """The stage's Restate, no call to which takes less than `seconds`."""
    network = httpx.HTTPTransport()

    def answer(request: httpx.Request) -> httpx.Response:
        time.sleep(seconds)
        return network.handle_request(request)

    return Ingress(stage.ingress.url, transport=httpx.MockTransport(answer))


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
            with ThreadPoolExecutor(16) as callers:
                assert {*callers.map(lambda run_id: stage.ingress.output(run_id).state, runs[:1_000])} == {"live"}
            one = stage.a_pass(settlement=stage.settlement(ingress=slow_ingress(stage, CALL_SECONDS)))

            results = [one.run(Deadline(PASS_SECONDS)) for _ in range(2)]

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


def test_a_pass_without_time_for_a_row_leaves_the_position_as_it_was(stage: Stage):
    runs = [stage.index(created_at=old(number)) for number in range(120)]
    lease = Lease(open_database(stage.database_url), "settlement")
    here = WalkPosition(True, Position(old(59), runs[59]))
    assert lease.take()
    lease.save_position(here)
    lease.release()

    assert not stage.sweep(seconds=0).finished

    assert Lease(open_database(stage.database_url), "settlement").position() == here


def test_each_request_of_a_pass_with_time_is_bounded_by_thirty_seconds(stage: Stage):
    asked: set[float] = set()
    network = httpx.HTTPTransport()

    def answer(request: httpx.Request) -> httpx.Response:
        asked.add(request.extensions["timeout"]["read"])
        return network.handle_request(request)

    stage.index()
    ingress = Ingress(stage.ingress.url, transport=httpx.MockTransport(answer))

    assert stage.sweep(seconds=250, settlement=stage.settlement(ingress=ingress))["frozen"] == 1

    assert asked == {30.0}


def test_the_requests_of_one_row_end_with_the_pass_all_together(stage: Stage):
    """Restate answers each of them at the last moment: the pass ends in time all the same."""
    kinds = [f"kind-{number}" for number in range(6)]
    run_id = stage.start(ASK, END, subjects=dict.fromkeys(kinds, "s-1"))
    stage.until(run_id, "suspended")
    stage.kill(run_id)
    asked: list[float] = []
    network = httpx.HTTPTransport()

    def late(request: httpx.Request) -> httpx.Response:
        if "closeValidationRequest" in request.url.path:
            asked.append(request.extensions["timeout"]["read"])
            time.sleep(asked[-1])
            raise httpx.ReadTimeout("no answer in time")
        return network.handle_request(request)

    ingress = Ingress(stage.ingress.url, transport=httpx.MockTransport(late))
    started = time.monotonic()

    result = stage.sweep(seconds=1, settlement=stage.settlement(ingress=ingress, record_ports=kinds))

    assert result["unsettled"] == 1
    assert len(asked) == len(kinds)
    assert time.monotonic() - started < 1 + GRACE_SECONDS + 1
    assert stage.row(run_id).final_status is None


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
