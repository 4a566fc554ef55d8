"""Follow-ups on one machine: what an SQS queue with a delay is on AWS.

`SETTLE_QUEUE_URL` is here an address of the local Lambda service. A function posts

    {"runIds": ["obs-7f3:potassium-alert"], "delaySeconds": 6}

to it and is answered 202. After the delay FollowUpFunction is invoked with the event of an SQS queue whose one
record has the body `{"runIds": […]}`. One that fails is not delivered again: the next settlement pass finds them.
"""

from __future__ import annotations

import hashlib
import heapq
import json
import threading
import time
import uuid
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from typing import Any

PATH = "/local/follow-ups"
FUNCTION = "FollowUpFunction"
MOST_DELAY_SECONDS = 900
"""SQS's own limit."""


class InvalidFollowUp(Exception):
    """The posted follow-up is not one; the message says what is wrong."""


class FollowUps:
    """Delivers follow-ups when they are due, a few at a time. `deliver` is given the event, as JSON."""

    def __init__(self, deliver: Callable[[bytes], object]) -> None:
        self._deliver = deliver
        self._order = count()
        self._due: list[tuple[float, int, list[str]]] = []
        self._changed = threading.Condition()
        self._workers = ThreadPoolExecutor(max_workers=4, thread_name_prefix="follow-up")
        self._is_stopped = False

    def start(self) -> None:
        threading.Thread(target=self._run, daemon=True, name="follow-ups").start()

    def stop(self) -> None:
        """Forgets what is not due yet: the settlement passes of the next start find those runs."""
        with self._changed:
            self._is_stopped = True
            self._changed.notify()
        self._workers.shutdown(wait=False, cancel_futures=True)

    def add(self, payload: bytes) -> None:
        """Takes a posted follow-up. Raises `InvalidFollowUp`."""
        try:
            message = json.loads(payload)
            run_ids, delay = message["runIds"], float(message.get("delaySeconds", 0))
        except (ValueError, KeyError, TypeError, AttributeError):
            raise InvalidFollowUp("A follow-up is an object with runIds, and delaySeconds as a number.") from None
        if not isinstance(run_ids, list) or not all(isinstance(run_id, str) for run_id in run_ids):
            raise InvalidFollowUp("runIds must be an array of run ids.")
        if not 0 <= delay <= MOST_DELAY_SECONDS:
            raise InvalidFollowUp(f"delaySeconds must be between 0 and {MOST_DELAY_SECONDS}.")
        with self._changed:
            heapq.heappush(self._due, (time.monotonic() + delay, next(self._order), run_ids))
            self._changed.notify()

    def _run(self) -> None:
        while True:
            with self._changed:
                while not self._is_stopped and (not self._due or self._due[0][0] > time.monotonic()):
                    self._changed.wait(self._due[0][0] - time.monotonic() if self._due else None)
                if self._is_stopped:
                    return
                run_ids = heapq.heappop(self._due)[2]
            self._workers.submit(self._deliver, json.dumps(sqs_event({"runIds": run_ids})).encode())


def sqs_event(message: dict[str, Any]) -> dict[str, Any]:
    """The event of an SQS queue with one message, as Lambda hands it to a function."""
    body = json.dumps(message)
    now = str(int(time.time() * 1000))
    return {
        "Records": [
            {
                "messageId": str(uuid.uuid4()),
                "receiptHandle": "local",
                "body": body,
                "attributes": {
                    "ApproximateReceiveCount": "1",
                    "SentTimestamp": now,
                    "SenderId": "local",
                    "ApproximateFirstReceiveTimestamp": now,
                },
                "messageAttributes": {},
                "md5OfBody": hashlib.md5(body.encode(), usedforsecurity=False).hexdigest(),
                "eventSource": "aws:sqs",
                "eventSourceARN": "arn:aws:sqs:eu-west-1:123456789012:settle",
                "awsRegion": "eu-west-1",
            }
        ]
    }
