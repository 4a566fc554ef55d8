"""The protocol between CloudFormation and a function that stands for a resource.

CloudFormation waits, for an hour unless told otherwise, until the function has put its answer to a pre-signed
address. So every way out of the work answers, and the answer is tried again.
https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/crpg-ref-responses.html
"""

import logging
import time
from collections.abc import Callable, Mapping
from typing import Any
from urllib.error import URLError
from urllib.request import Request, urlopen

from meridian import jsontext
from meridian.errors import MeridianError

logger = logging.getLogger("meridian.deployment")

TRIES, TIMEOUT_SECONDS = 5, 10
MOST_REASON_CHARACTERS = 1_000  # an answer holds at most 4,096 bytes

Event = Mapping[str, Any]
Work = Callable[[str, Mapping[str, Any]], Mapping[str, Any]]


def is_from_cloudformation(event: Event) -> bool:
    return "ResponseURL" in event


def answer(event: Event, work: Work, log_group: str) -> None:
    """Does what CloudFormation asks and tells it how that ended. Never raises for the work's own failure.

    `work` is given the resource's type and properties, for a creation and an update, and its answer becomes the
    resource's attributes. A deletion always succeeds and does nothing: data outlive the stack.
    """
    attributes: Mapping[str, Any] = {}
    failure: str | None = None
    if event["RequestType"] != "Delete":
        try:
            attributes = work(event["ResourceType"], event["ResourceProperties"])
        except MeridianError as error:
            failure = str(error)
        except Exception as error:  # the deployment has to be told, whatever it was
            failure = f"{type(error).__name__}: see the log group {log_group}."
            logger.error("a custom resource failed", extra={"error": type(error).__name__})  # noqa: TRY400
    _put(event["ResponseURL"], _answer(event, attributes, failure))


def _answer(event: Event, attributes: Mapping[str, Any], failure: str | None) -> dict[str, Any]:
    document = {
        "Status": "SUCCESS" if failure is None else "FAILED",
        # The same for the life of the resource: another one would make CloudFormation delete the one before.
        "PhysicalResourceId": event.get("PhysicalResourceId") or event["LogicalResourceId"],
        "StackId": event["StackId"],
        "RequestId": event["RequestId"],
        "LogicalResourceId": event["LogicalResourceId"],
        "Data": dict(attributes),
    }
    return document if failure is None else {**document, "Reason": failure[:MOST_REASON_CHARACTERS]}


def _put(url: str, document: Mapping[str, Any]) -> None:
    """Raises the last try's error: then the invocation fails, and is tried again by Lambda."""
    content = jsontext.serialize(document).encode()
    # The address is signed for an empty content type, which urllib would fill in.
    request = Request(url, data=content, method="PUT", headers={"Content-Type": ""})  # noqa: S310 - CloudFormation's own
    for attempt in range(1, TRIES + 1):
        try:
            with urlopen(request, timeout=TIMEOUT_SECONDS):  # noqa: S310
                return
        except URLError as error:
            if attempt == TRIES:
                raise
            logger.warning("CloudFormation did not take the answer", extra={"error": type(error).__name__})
            time.sleep(2 ** (attempt - 1))
