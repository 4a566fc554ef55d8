"""Follow-ups: on an SQS queue, on the local stack, or not at all; and never in the way of what asked for them."""

from __future__ import annotations

import http.server
import json
import logging
import threading

import boto3
import pytest
from moto import mock_aws

from meridian.settlement.follow_ups import (
    LocalFollowUps,
    NoFollowUps,
    QueuedFollowUps,
    follow_ups_to,
    messages,
    runs_of,
)

REGION = "eu-west-1"


@pytest.fixture
def aws(monkeypatch: pytest.MonkeyPatch):
    for name, value in {"ACCESS_KEY_ID": "x", "SECRET_ACCESS_KEY": "x", "DEFAULT_REGION": REGION}.items():
        monkeypatch.setenv(f"AWS_{name}", value)
    with mock_aws():
        yield


@pytest.mark.parametrize(
    ("address", "kind"),
    [
        (None, NoFollowUps),
        ("http://127.0.0.1:3001/local/follow-ups", LocalFollowUps),
        ("https://sqs.eu-west-1.amazonaws.com/123456789012/follow-ups", QueuedFollowUps),
        ("http://127.0.0.1:4566/000000000000/follow-ups", QueuedFollowUps),
    ],
)
def test_the_setting_chooses(address, kind):
    assert type(follow_ups_to(address)) is kind


def test_a_message_is_delayed_on_the_queue(aws):
    sqs = boto3.client("sqs", region_name=REGION)
    queue = sqs.create_queue(QueueName="follow-ups")["QueueUrl"]

    QueuedFollowUps(queue).schedule(["e1:alert", "e1:other"])

    assert sqs.receive_message(QueueUrl=queue).get("Messages", []) == []  # for six seconds nobody sees it
    attributes = sqs.get_queue_attributes(QueueUrl=queue, AttributeNames=["ApproximateNumberOfMessagesDelayed"])
    assert attributes["Attributes"]["ApproximateNumberOfMessagesDelayed"] == "1"


def test_many_runs_take_several_messages():
    assert [len(message["runIds"]) for message in messages([f"e:{number}" for number in range(250)])] == [
        100,
        100,
        50,
    ]
    assert messages([]) == []


def test_a_queue_that_is_gone_costs_a_warning_and_no_more(aws, caplog: pytest.LogCaptureFixture):
    gone = f"https://sqs.{REGION}.amazonaws.com/123456789012/gone"

    QueuedFollowUps(gone).schedule(["e1:alert"])

    (line,) = [line for line in caplog.records if line.name == "meridian.runs"]
    assert (line.levelno, "e1" in line.getMessage()) == (logging.WARNING, False)


def test_the_local_stack_is_posted_to():
    posted: list[dict[str, object]] = []

    class Stack(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            posted.append(json.loads(self.rfile.read(int(self.headers["content-length"]))))
            self.send_response(202)
            self.end_headers()

        def log_message(self, *args: object) -> None:
            """Nothing to tell."""

    with http.server.HTTPServer(("127.0.0.1", 0), Stack) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        LocalFollowUps(f"http://127.0.0.1:{server.server_port}/local/follow-ups").schedule(["e1:alert"])
        server.shutdown()

    assert posted == [{"runIds": ["e1:alert"], "delaySeconds": 6}]


def test_a_local_stack_that_is_gone_costs_a_warning_and_no_more(caplog: pytest.LogCaptureFixture):
    LocalFollowUps("http://127.0.0.1:9/local/follow-ups").schedule(["e1:alert"])

    assert [line.levelname for line in caplog.records if line.name == "meridian.runs"] == ["WARNING"]


@pytest.mark.parametrize("body", ["[]", "{}", '{"runIds": "e1"}', '{"runIds": [1]}', "no json"])
def test_what_is_no_message_is_refused(body):
    with pytest.raises(ValueError, match=r"."):
        runs_of(body)


def test_runs_of_a_message():
    assert runs_of('{"runIds":["é:alert"]}') == ["é:alert"]
