"""Follow-ups: a run is settled about six seconds after its event was ingested or its signal was sent."""

import logging
from collections.abc import Sequence
from typing import Any, Protocol
from urllib.parse import urlsplit

from meridian import jsontext

logger = logging.getLogger("meridian.runs")

DELAY_SECONDS = 6
RUNS_PER_MESSAGE = 100  # of at most a thousand bytes each: a message of SQS holds 256 KiB
LOCAL_PATH = "/local/follow-ups"
LOCAL_TIMEOUT_SECONDS = 2.0


class FollowUps(Protocol):
    """Has runs settled a little later. A follow-up that is lost costs nothing: the next pass finds the run."""

    def schedule(self, run_ids: Sequence[str]) -> None:
        """Never raises: what was asked for is done, whether or not it can be followed up."""
        ...


class NoFollowUps:
    """Where no queue is configured the pass settles every run."""

    def schedule(self, run_ids: Sequence[str]) -> None:
        pass


class QueuedFollowUps:
    """Follow-ups as messages `{"runIds": […]}` on an SQS queue, delivered after the delay."""

    def __init__(self, queue_url: str, client: Any = None) -> None:
        self._queue_url = queue_url
        self._client = client

    def schedule(self, run_ids: Sequence[str]) -> None:
        for message in messages(run_ids):
            try:
                self._sqs().send_message(
                    QueueUrl=self._queue_url, MessageBody=jsontext.serialize(message), DelaySeconds=DELAY_SECONDS
                )
            except Exception as error:  # botocore makes the classes of its errors when it runs
                _not_scheduled(error)

    def _sqs(self) -> Any:
        if self._client is None:
            import boto3  # noqa: PLC0415 - a third of a second that only those pay who send

            self._client = boto3.client("sqs")
        return self._client


class LocalFollowUps:
    """The same on one machine, where the local stack keeps them for the time of the delay."""

    def __init__(self, url: str) -> None:
        self._url = url

    def schedule(self, run_ids: Sequence[str]) -> None:
        import httpx  # noqa: PLC0415

        for message in messages(run_ids):
            try:
                httpx.post(
                    self._url,
                    content=jsontext.serialize({**message, "delaySeconds": DELAY_SECONDS}).encode(),
                    headers={"content-type": "application/json"},
                    timeout=LOCAL_TIMEOUT_SECONDS,
                    trust_env=False,
                ).raise_for_status()
            except httpx.HTTPError as error:
                _not_scheduled(error)


def follow_ups_to(queue_url: str | None) -> FollowUps:
    """Those that `SETTLE_QUEUE_URL` asks for: an SQS queue, the local stack, or none."""
    if queue_url is None:
        return NoFollowUps()
    address = urlsplit(queue_url)
    if address.hostname == "127.0.0.1" and address.path == LOCAL_PATH:
        return LocalFollowUps(queue_url)
    return QueuedFollowUps(queue_url)


def messages(run_ids: Sequence[str]) -> list[dict[str, list[str]]]:
    """The messages that carry `run_ids`."""
    starts = range(0, len(run_ids), RUNS_PER_MESSAGE)
    return [{"runIds": [*run_ids[start : start + RUNS_PER_MESSAGE]]} for start in starts]


def runs_of(body: str) -> list[str]:
    """The runs that a message names. Raises `ValueError` for what is no such message."""
    message = jsontext.parse(body)
    run_ids = message.get("runIds") if isinstance(message, dict) else None
    if not isinstance(run_ids, list) or not all(isinstance(run_id, str) for run_id in run_ids):
        raise ValueError("the message has no runIds")
    return run_ids


def _not_scheduled(error: Exception) -> None:
    logger.warning("follow-up not scheduled: the next pass settles the run", extra={"error": type(error).__name__})
