"""The two functions through their handlers, with the documents that AWS makes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from meridian.clock import ago
from tests.services.functions import ROOT, Context, load_function
from tests.services.restate import running_restate
from tests.services.stage import ASK, END, VISIT, WAIT, Stage, staged

TICK = json.loads((ROOT / "events" / "settlement-tick.json").read_text())
MESSAGES = json.loads((ROOT / "events" / "follow-up-messages.json").read_text())


@pytest.fixture(params=["postgresql", "sqlite"])
def stage(request: pytest.FixtureRequest, restate: Any, tmp_path: Path) -> Iterator[Stage]:
    """The same on either backend of the run index."""
    is_sqlite = request.param == "sqlite"
    url = f"sqlite:{tmp_path}/index.sqlite" if is_sqlite else request.getfixturevalue("postgres_url")
    with staged(restate, url) as made:
        yield made


def loaded(name: str, stage: Stage, monkeypatch: pytest.MonkeyPatch, **more: str) -> Any:
    settings = {"RUN_DB_URL": stage.database_url, "RESTATE_URL": stage.ingress.url, "RECORD_PORTS": "patient"}
    return load_function(name, monkeypatch, **settings, **more)


def settled_metrics(output: str) -> list[tuple[str, str]]:
    """The ending and the source of each `meridian.runs.settled` that was written."""
    documents = [json.loads(line) for line in output.splitlines() if line.startswith("{")]
    return [(one["ending"], one["source"]) for one in documents if "meridian.runs.settled" in one]


@pytest.mark.parametrize("admin", [False, True], ids=["ingress", "introspection"])
def test_a_tick_settles_what_ended(stage: Stage, monkeypatch, capsys, admin: bool):
    ended, waiting = stage.start(VISIT, END), stage.start(WAIT, END)
    stage.until_ended(ended)
    stage.until(waiting, "waiting")
    more = {"RESTATE_ADMIN_URL": stage.server.admin_url} if admin else {}
    function = loaded("settlement", stage, monkeypatch, **more)

    answer = function.handler(TICK, Context(remaining_millis=60_000))

    assert answer == {"ran": True, "finished": True, "rows": {"frozen": 1, "live": 1}}
    assert stage.row(ended).final_status == "completed"
    assert settled_metrics(capsys.readouterr().out) == [("completed", "sweep")]
    again = function.handler(TICK, Context(remaining_millis=60_000))
    assert again == {"ran": True, "finished": True, "rows": {"live": 1}}


def test_a_pass_is_one_span_by_its_name(stage: Stage, monkeypatch):
    function = loaded("settlement", stage, monkeypatch)
    spans: list[str] = []

    def span(title: str) -> nullcontext[None]:
        spans.append(title)
        return nullcontext()

    monkeypatch.setattr(function, "span", span)

    function.handler(TICK, Context(remaining_millis=60_000))

    assert spans == ["runs.settle"]


def test_a_tick_tells_what_the_alarms_watch(stage: Stage, monkeypatch, capsys):
    stage.index(created_at=ago(days=2))
    function = loaded("settlement", stage, monkeypatch)
    capsys.readouterr()

    function.handler(TICK, Context(remaining_millis=60_000))

    told = metrics(capsys.readouterr().out)
    assert told["meridian.ready"] == told["meridian.settlement.passes"] == [1.0]
    assert told["meridian.runs.oldest_live"] == [pytest.approx(2 * 86_400, abs=60)]


# What another hand may leave in a row.
ODD_VALUES = [
    ("final_status", "banana"),
    ("created_at", ""),
    ("created_at", "2026-01-01"),
    ("created_at", "1999 and a half"),
    ("subjects", "[1,"),
    ("subjects", '{"patient": 7, "stay": null}'),
    ("event", "no JSON"),
]


def test_rows_with_odd_values_are_settled_like_others_and_keep_no_other_from_its_end(stage: Stage, monkeypatch):
    for column, value in ODD_VALUES:
        run_id = stage.index()
        stage.store.database.execute(
            f"UPDATE runs SET {column} = :value WHERE id = :id", {"value": value, "id": run_id}
        )
    odd_and_killed, ended = stage.start(ASK, END), stage.start(VISIT, END)
    stage.until(odd_and_killed, "suspended")
    stage.kill(odd_and_killed)
    stage.until_ended(ended)
    stage.store.database.execute("UPDATE runs SET final_status = 'live' WHERE id = :id", {"id": odd_and_killed})
    function = loaded("settlement", stage, monkeypatch)

    answer = function.handler(TICK, Context(remaining_millis=60_000))

    frozen = len(ODD_VALUES) + 2
    assert answer == {"ran": True, "finished": True, "rows": {"frozen": frozen}}
    assert stage.row(odd_and_killed).final_status == "failed"
    assert stage.row(ended).final_status == "completed"
    assert stage.store.oldest_live() is None


def test_a_tick_without_restate_tells_that_the_stack_is_not_ready(stage: Stage, monkeypatch, capsys):
    monkeypatch.setattr(stage.ingress, "url", "http://127.0.0.1:1")
    function = loaded("settlement", stage, monkeypatch)
    capsys.readouterr()

    function.handler(TICK, Context(remaining_millis=60_000))

    assert metrics(capsys.readouterr().out)["meridian.ready"] == [0.0]


def metrics(output: str) -> dict[str, list[float]]:
    """The metrics of one invocation, by name."""
    documents = [json.loads(line) for line in output.splitlines() if line.startswith("{") and '"_aws"' in line]
    return {name: value for document in documents for name, value in document.items() if name.startswith("meridian.")}


def test_a_tick_without_time_settles_nothing(stage: Stage, monkeypatch):
    run_id = stage.start(VISIT, END)
    stage.until_ended(run_id)
    function = loaded("settlement", stage, monkeypatch)

    assert function.handler(TICK, Context(remaining_millis=5_000))["finished"] is False
    assert stage.row(run_id).final_status is None


def test_an_interval_of_0_switches_the_pass_off(stage: Stage, monkeypatch):
    run_id = stage.start(VISIT, END)
    stage.until_ended(run_id)
    function = loaded("settlement", stage, monkeypatch, RUN_SETTLE_INTERVAL_MS="0")

    assert function.handler(TICK, Context()) == {"ran": False}
    assert stage.row(run_id).final_status is None


def messages(*bodies: str) -> dict[str, Any]:
    record = MESSAGES["Records"][0]
    return {"Records": [{**record, "messageId": f"m{n}", "body": body} for n, body in enumerate(bodies)]}


def test_follow_ups_settle_their_runs_and_only_failed_messages_come_again(stage: Stage, monkeypatch, capsys):
    ended, live, killed = stage.start(VISIT, END), stage.start(WAIT, END), stage.start(ASK, END)
    stage.until_ended(ended)
    stage.until(live, "waiting")
    stage.until(killed, "suspended")
    stage.kill(killed)
    function = loaded("follow_up", stage, monkeypatch)

    answer = function.handler(
        messages(json.dumps({"runIds": [ended, live]}), "no message", json.dumps({"runIds": [killed, "no:run"]})),
        Context(),
    )

    assert answer == {"batchItemFailures": [{"itemIdentifier": "m1"}]}
    assert [stage.row(run_id).final_status for run_id in (ended, live, killed)] == ["completed", None, "failed"]
    metrics = settled_metrics(capsys.readouterr().out)
    assert sorted(metrics) == [("completed", "read"), ("killed", "read")]


def test_a_follow_up_leaves_a_run_that_was_killed_while_running_to_the_pass(stage: Stage, monkeypatch):
    run_id = stage.start(VISIT, {"do": "sleep", "seconds": 600})
    stage.until(run_id, "running")
    stage.kill(run_id)
    function = loaded("follow_up", stage, monkeypatch)

    assert function.handler(messages(json.dumps({"runIds": [run_id]})), Context()) == {"batchItemFailures": []}
    assert stage.row(run_id).final_status is None
    stage.sweep()
    assert stage.counted.take() == {("killed", "sweep"): 1}


def test_a_follow_up_comes_again_while_restate_is_out_of_reach(stage: Stage, monkeypatch):
    run_id = stage.index()
    settings = {"RUN_DB_URL": stage.database_url, "RESTATE_URL": "http://127.0.0.1:9"}
    function = load_function("follow_up", monkeypatch, **settings)

    answer = function.handler(messages(json.dumps({"runIds": [run_id]})), Context())

    assert answer == {"batchItemFailures": [{"itemIdentifier": "m0"}]}


def test_a_run_that_restate_does_not_answer_for_leaves_time_to_the_others_of_its_batch(
    tmp_path: Path, postgres_url: str, monkeypatch
):
    with running_restate(tmp_path) as server:
        with staged(server, postgres_url) as stage:
            hanging, ended = stage.start(WAIT, END), stage.start(VISIT, END)
            stage.until(hanging, "waiting")
            stage.kill(hanging)
            stage.until_ended(ended)
            stage.store.save_snapshot(ended, stage.snapshot(ended))  # by a process that was killed then
            function = loaded("follow_up", stage, monkeypatch)
        # the engine is gone: a snapshot is waited for in vain

        batch = messages(json.dumps({"runIds": [hanging]}), json.dumps({"runIds": [ended]}))
        answer = function.handler(batch, Context(remaining_millis=5_000))

        assert answer == {"batchItemFailures": [{"itemIdentifier": "m0"}]}
        assert stage.row(ended).final_status == "completed"


def test_the_sample_event_of_each_function(stage: Stage, monkeypatch):
    assert loaded("follow_up", stage, monkeypatch).handler(MESSAGES, Context()) == {"batchItemFailures": []}
