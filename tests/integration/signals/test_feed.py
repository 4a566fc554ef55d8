"""The decision feed: each decision is answered applied, duplicate or rejected with its reason."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from meridian.errors import RestateUnavailable
from meridian.signals.feed import DecisionFeed, FeedDecision
from meridian.signals.model import Decision
from tests.services.restate import running_restate
from tests.services.stage import ASK, END, VISIT, WAIT, Stage, logged, staged

APPROVE = Decision("ask", "approved", "dr-a")
NOT_APPLIED = "décision sur un run terminé : validation non appliquée"


@pytest.fixture
def feed(stage, signals):
    return DecisionFeed(signals, stage.store)


def suspended(stage: Stage, *more: Mapping[str, object]) -> str:
    run_id = stage.start(VISIT, ASK, *(more or (END,)))
    stage.until(run_id, "suspended")
    return run_id


def results(answers) -> list[tuple[str, str | None]]:
    return [(answer.result, answer.reason) for answer in answers]


def test_each_decision_is_answered_in_its_order(stage, feed, caplog):
    live, killed, lost = suspended(stage, WAIT), suspended(stage), stage.index()
    done = suspended(stage)
    stage.kill(killed)
    stage.ingress.decide(done, APPROVE.as_json())
    stage.until_ended(done)
    stage.sweep()
    caplog.clear()

    answers = feed.take(
        [
            FeedDecision(killed, APPROVE),
            FeedDecision(live, APPROVE),
            FeedDecision(live, APPROVE),
            FeedDecision(live, Decision("ask", "approved", "dr-b")),
            FeedDecision(live, Decision("ask", "rejected")),
            FeedDecision(live, Decision("pause", "approved")),
            FeedDecision(done, APPROVE),
            FeedDecision(done, Decision("never", "approved")),
            FeedDecision(lost, APPROVE),
            FeedDecision("nobody:knows", APPROVE),
        ]
    )

    assert [answer.run_id for answer in answers[:2]] == [killed, live]
    assert results(answers) == [
        ("rejected", NOT_APPLIED),
        ("applied", None),
        ("duplicate", None),
        ("duplicate", None),
        ("rejected", "Another decision was applied to this request."),
        ("rejected", "The run does not wait for this decision."),
        ("duplicate", None),
        ("rejected", "The run never asked for this decision."),
        ("rejected", NOT_APPLIED),
        ("rejected", "There is no such run."),
    ]
    rejected = [line for line in logged(caplog) if line.message == "résolution rejetée"]
    assert len(rejected) == 6
    assert (killed, NOT_APPLIED) in [(line.runId, line.reason) for line in rejected]


def test_a_run_that_was_killed_and_not_settled_yet_is_rejected_alike(stage, feed):
    run_id = suspended(stage)
    stage.kill(run_id)

    assert results(feed.take([FeedDecision(run_id, APPROVE)])) == [("rejected", NOT_APPLIED)]
    assert stage.row(run_id).final_status == "failed"


def test_a_hundred_decisions_of_a_hundred_runs(stage, feed):
    runs = [stage.start(ASK, END) for _ in range(100)]
    for run_id in runs:
        stage.until(run_id, "suspended")

    answers = feed.take([FeedDecision(run_id, APPROVE) for run_id in runs])

    assert {answer.result for answer in answers} <= {"applied", "accepted"}
    for run_id in runs:
        stage.until_ended(run_id)
    again = feed.take([FeedDecision(run_id, APPROVE) for run_id in runs])
    assert results(again) == [("duplicate", None)] * 100


def test_behind_a_decision_that_could_not_be_taken_its_run_takes_no_other(stage, feed, signals, monkeypatch):
    """Sent again, they are taken in their order. A hundred of one run would else outlast the request, too."""
    stuck, free = suspended(stage), suspended(stage, WAIT)
    send, sent = signals.send, []

    def sending(run_id, decision):
        sent.append(run_id)
        if run_id == stuck:
            raise RestateUnavailable("Restate is out of reach.")
        return send(run_id, decision)

    monkeypatch.setattr(signals, "send", sending)

    with pytest.raises(RestateUnavailable) as problem:
        feed.take([*[FeedDecision(stuck, APPROVE)] * 99, FeedDecision(free, APPROVE)])

    assert sorted(sent) == sorted([stuck, free])
    assert [result["runId"] for result in problem.value.extra["results"]] == [free]


def test_a_feed_that_has_no_time_left_answers_what_it_took(stage, feed, monkeypatch):
    run_id = suspended(stage, WAIT)
    monkeypatch.setattr("meridian.signals.feed.FEED_SECONDS", 0.0)

    with pytest.raises(RestateUnavailable) as problem:
        feed.take([FeedDecision(run_id, APPROVE)])

    assert problem.value.extra["results"] == []
    assert stage.snapshot(run_id)["status"] == "suspended"


def test_a_row_whose_event_is_no_json_costs_the_feed_nothing(stage, feed):
    odd, run_id = suspended(stage, WAIT), suspended(stage, WAIT)
    stage.store.database.execute("UPDATE runs SET event = 'no JSON' WHERE id = :id", {"id": odd})

    answers = feed.take([FeedDecision(odd, APPROVE), FeedDecision(run_id, APPROVE)])

    assert results(answers) == [("applied", None)] * 2


def test_restate_out_of_reach_answers_the_whole_feed_as_to_be_sent_again(tmp_path, postgres_url, follow_ups):
    from meridian.signals.service import Signals

    with running_restate(tmp_path) as server, staged(server, postgres_url) as stage:
        live, done = suspended(stage), stage.start(VISIT, END)
        stage.until_ended(done)
        stage.sweep()
        server.stop()
        feed = DecisionFeed(Signals(stage.settlement(), follow_ups), stage.store)

        with pytest.raises(RestateUnavailable) as problem:
            feed.take([FeedDecision(live, APPROVE), FeedDecision(done, APPROVE)])

    assert [result["runId"] for result in problem.value.extra["results"]] == [done]
