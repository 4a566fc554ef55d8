"""Events of the bus through the queue of the template: the real function, its database and Restate behind it.

Moto keeps the queues. What Lambda does between a queue and its function is done here by `Poller`.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import count
from typing import Any

import boto3
import pytest
from moto import mock_aws

from local.restate import RestateServer
from meridian.database import Database, ensure_schema, open_database
from meridian.definitions.sql_store import DEFINITION_SCHEMA, SqlDefinitionStore
from tests.deployment.cloudformation import Deployed
from tests.services.endpoint import serving
from tests.services.functions import ROOT, Context, load_function
from tests.services.scripted import scripted_endpoint

SENT = "observation.created"
ENVELOPE = json.loads(json.loads((ROOT / "events" / "ingestion-messages.json").read_text())["Records"][0]["body"])
_numbers = count(1)


@pytest.fixture(scope="module")
def template() -> Deployed:
    return Deployed()


@dataclass
class Poller:
    """Lambda's side of the queue: hands over a batch, deletes what did not fail, and leaves the rest to the queue."""

    handler: Any
    client: Any
    queue: str
    dead_letters: str
    batches: list[list[str]] = field(default_factory=list)  # the bodies that the function was given

    def poll(self, remaining_millis: int = 29_000) -> None:
        """One batch. The time for which the queue hides what failed passes at once."""
        messages = self.client.receive_message(
            QueueUrl=self.queue, MaxNumberOfMessages=10, AttributeNames=["All"], WaitTimeSeconds=0
        ).get("Messages", [])
        if not messages:
            return
        self.batches.append(sorted(message["Body"] for message in messages))
        answer = self.handler(_batch(messages), Context(remaining_millis))
        failed = {one["itemIdentifier"] for one in answer["batchItemFailures"]}
        for message in messages:
            handle = {"QueueUrl": self.queue, "ReceiptHandle": message["ReceiptHandle"]}
            if message["MessageId"] in failed:
                self.client.change_message_visibility(**handle, VisibilityTimeout=0)
            else:
                self.client.delete_message(**handle)

    def waiting(self) -> int:
        attributes = self.client.get_queue_attributes(QueueUrl=self.queue, AttributeNames=["All"])["Attributes"]
        return sum(int(value) for name, value in attributes.items() if name.startswith("ApproximateNumberOf"))

    def dead(self) -> list[str]:
        received = self.client.receive_message(QueueUrl=self.dead_letters, MaxNumberOfMessages=10)
        return [message["Body"] for message in received.get("Messages", [])]


def _batch(messages: list[Any]) -> dict[str, Any]:
    """The document with which Lambda calls the function of a queue."""
    return {
        "Records": [
            {
                "messageId": message["MessageId"],
                "receiptHandle": message["ReceiptHandle"],
                "body": message["Body"],
                "attributes": message["Attributes"],
                "messageAttributes": {},
                "eventSource": "aws:sqs",
                "eventSourceARN": "arn:aws:sqs:eu-west-1:123456789012:ingestion",
                "awsRegion": "eu-west-1",
            }
            for message in messages
        ]
    }


@pytest.fixture
def database(postgres_url: str) -> Iterator[Database]:
    database = open_database(postgres_url)
    ensure_schema(database, DEFINITION_SCHEMA)
    publish(database, "alert", SENT)
    yield database
    database.close()


@pytest.fixture
def poller(
    template: Deployed, database: Database, restate: RestateServer, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Poller]:
    for name, value in {"ACCESS_KEY_ID": "x", "SECRET_ACCESS_KEY": "x", "DEFAULT_REGION": "eu-west-1"}.items():
        monkeypatch.setenv(f"AWS_{name}", value)
    with serving(scripted_endpoint([])) as endpoint, mock_aws():
        restate.register({"uri": endpoint, "use_http_11": True})
        app = load_function("ingestion", monkeypatch, RUN_DB_URL=database.url, RESTATE_URL=restate.ingress_url)
        yield poller_of(template, app.handler)


def poller_of(template: Deployed, handler: Any) -> Poller:
    """Makes the queue and its dead letters, with the template's settings."""
    client = boto3.client("sqs")
    queues = template.of_type("AWS::SQS::Queue")
    dead_letters = client.create_queue(QueueName="dead-letters")["QueueUrl"]
    arn = client.get_queue_attributes(QueueUrl=dead_letters, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]
    declared = queues["IngestionQueue"]
    redrive = {"deadLetterTargetArn": arn, "maxReceiveCount": declared["RedrivePolicy"]["maxReceiveCount"]}
    queue = client.create_queue(
        QueueName="ingestion",
        Attributes={
            "VisibilityTimeout": str(declared["VisibilityTimeout"]),
            "RedrivePolicy": json.dumps(redrive),
        },
    )["QueueUrl"]
    return Poller(handler, client, queue, dead_letters)


def publish(database: Database, slug: str, event: str) -> None:
    definition = {
        "name": slug,
        "entries": [{"id": "only", "event": event}],
        "start": "done",
        "nodes": [{"id": "done", "type": "end"}],
    }
    SqlDefinitionStore(database).publish(slug, definition, activate=True)


def send(poller: Poller, **detail: Any) -> str:
    """Sends an event as the bus does; its id."""
    event_id = f"bus-{os.getpid()}-{next(_numbers)}"
    envelope = ENVELOPE | {"detail-type": SENT, "detail": {"eventId": event_id, **detail}}
    poller.client.send_message(QueueUrl=poller.queue, MessageBody=json.dumps(envelope))
    return event_id


def runs(database: Database) -> list[str]:
    return sorted(str(run_id) for (run_id,) in database.execute("SELECT id FROM runs"))


def test_only_what_failed_is_delivered_again(poller: Poller, database: Database) -> None:
    """One of four names a workflow that is published between the two deliveries."""
    others = [send(poller), send(poller), send(poller)]
    late = send(poller, target={"workflow": "late"})

    poller.poll()
    assert runs(database) == sorted(f"{event_id}:alert" for event_id in others)
    publish(database, "late", "never.sent")
    poller.poll()

    assert [len(batch) for batch in poller.batches] == [4, 1]
    assert late in poller.batches[1][0]
    assert runs(database) == sorted([*(f"{event_id}:alert" for event_id in others), f"{late}:late"])
    assert poller.waiting() == 0
    assert poller.dead() == []


def test_a_batch_that_has_no_time_left_keeps_what_was_done(poller: Poller, database: Database) -> None:
    """Else the function would be cut off, and every message of the batch delivered again."""
    sent = [send(poller), send(poller), send(poller)]

    poller.poll(remaining_millis=10_000)
    assert len(runs(database)) == 1
    assert poller.waiting() == 2
    poller.poll()

    assert runs(database) == sorted(f"{event_id}:alert" for event_id in sent)
    assert poller.waiting() == 0


def test_poison_ends_among_the_dead_letters_and_loses_nothing_else(
    poller: Poller, database: Database, template: Deployed
) -> None:
    tries = template.of_type("AWS::SQS::Queue")["IngestionQueue"]["RedrivePolicy"]["maxReceiveCount"]
    poison = [f"no JSON {number}" for number in range(2)]
    sent = [send(poller)]
    for body in poison:
        poller.client.send_message(QueueUrl=poller.queue, MessageBody=body)
    sent.append(send(poller))

    poller.poll()
    sent.append(send(poller))  # one that comes while the poison goes round
    for _ in range(tries):
        poller.poll()

    assert runs(database) == sorted(f"{event_id}:alert" for event_id in sent)
    assert [len(batch) for batch in poller.batches] == [4, 3, *[2] * (tries - 2)]
    assert poller.waiting() == 0
    assert sorted(poller.dead()) == poison
