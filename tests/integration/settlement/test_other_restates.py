"""Only the run's own Restate can say that it lost it, and a Restate in trouble says nothing."""

from __future__ import annotations

import shutil
import time

import pytest

from meridian.restate.ingress import Ingress
from tests.services.endpoint import serving
from tests.services.restate import running_restate
from tests.services.scripted import scripted_endpoint
from tests.services.stage import ASK, END, VISIT, WAIT, Stage, logged, staged


def test_runs_of_a_wiped_restate_are_lost(tmp_path, postgres_url):
    with running_restate(tmp_path) as server, staged(server, postgres_url) as stage:
        runs = [stage.start(WAIT, END) for _ in range(3)] + [stage.start(ASK, END)]
        for run_id in runs:
            stage.until(run_id, "suspended" if run_id == runs[-1] else "waiting")
        server.stop()
        shutil.rmtree(server.directory)
        server.start()
        with serving(scripted_endpoint([])) as url:
            server.register({"uri": url, "use_http_11": True})

            result = stage.sweep()

        assert result["frozen"] == 4
        assert stage.counted.take() == {("lost", "sweep"): 4}
        assert {stage.row(run_id).final_status for run_id in runs} == {"failed"}
        assert stage.closures == []


def test_a_wiped_restate_without_its_engine_says_nothing(tmp_path, postgres_url):
    with running_restate(tmp_path) as server, staged(server, postgres_url) as stage:
        run_id = stage.start(WAIT, END)
        stage.until(run_id, "waiting")
        server.stop()
        shutil.rmtree(server.directory)
        server.start()

        assert stage.sweep()["unsettled"] == 1  # getRun has nobody to answer it
        assert stage.row(run_id).final_status is None


def test_another_restate_touches_none_and_counts_them_in_one_warning(
    tmp_path, stage: Stage, caplog: pytest.LogCaptureFixture
):
    theirs = [stage.start(VISIT, END) for _ in range(7)]
    for run_id in theirs:
        stage.until_ended(run_id)
    theirs.append(stage.index(restate_url=None))
    before = {run_id: stage.row(run_id) for run_id in theirs}
    with running_restate(tmp_path) as server, serving(scripted_endpoint([])) as url:
        server.register({"uri": url, "use_http_11": True})
        caplog.clear()

        result = stage.sweep(settlement=stage.settlement(ingress=Ingress(server.ingress_url)))

    assert (result["foreign"], result["frozen"]) == (8, 0)
    assert stage.counted.take() == {}
    assert {run_id: stage.row(run_id) for run_id in theirs} == before
    (line,) = logged(caplog)
    assert line.levelname == "WARNING"
    assert line.message == "8 run(s) d'un autre Restate ou sans Restate d'origine, non réglé(s)"
    assert (line.count, line.restate) == (8, server.ingress_url)


def test_a_changed_address_of_the_same_restate_is_followed(stage: Stage):
    run_id = stage.start(WAIT, END)
    stage.until(run_id, "waiting")
    renamed = Ingress(stage.ingress.url.replace("127.0.0.1", "localhost"))

    assert stage.sweep(settlement=stage.settlement(ingress=renamed))["adopted"] == 1
    assert stage.row(run_id).restate_url == renamed.url


def test_with_its_endpoint_down_nothing_is_frozen_and_the_pass_ends_in_time(
    tmp_path, postgres_url, caplog: pytest.LogCaptureFixture
):
    with running_restate(tmp_path) as server:
        with staged(server, postgres_url) as stage:
            killed = [stage.start(WAIT, END) for _ in range(20)]
            waiting = [stage.start(WAIT, END) for _ in range(20)]
            for run_id in killed + waiting:
                stage.until(run_id, "waiting")
            for run_id in killed:
                stage.kill(run_id)
        stage.store = stage.open_store()
        started = time.monotonic()

        result = stage.sweep(seconds=4)

        assert time.monotonic() - started < 4 + 3
        assert result["frozen"] == 0
        assert result["unsettled"] > 0
        assert stage.counted.take() == {}
        assert {stage.row(run_id).final_status for run_id in killed + waiting} == {None}


def test_a_restate_that_is_down_ends_the_pass_at_once(tmp_path, postgres_url, caplog: pytest.LogCaptureFixture):
    with running_restate(tmp_path) as server, staged(server, postgres_url) as stage:
        for _ in range(300):
            stage.index()
        server.stop()

        result = stage.sweep()

    assert not result.finished
    assert result["unsettled"] < 150
    assert stage.counted.take() == {}
    assert [line.message for line in caplog.records if "settlement pass ends" in line.message] == [
        "Restate does not answer: the settlement pass ends"
    ]


def test_a_pass_goes_on_by_ingress_calls_when_the_admin_api_fails(stage: Stage, caplog: pytest.LogCaptureFixture):
    from meridian.restate.admin import Admin

    ended, waiting = stage.start(VISIT, END), stage.start(WAIT, END)
    stage.until_ended(ended)
    stage.until(waiting, "waiting")

    result = stage.sweep(introspection=Admin("http://127.0.0.1:9"))

    assert (result["frozen"], result["live"]) == (1, 1)
    (line,) = logged(caplog)
    assert line.message == "Restate's admin API does not answer: rows are read one by one"
