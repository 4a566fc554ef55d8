"""AWS Lambda's Invoke API for the functions of the stack: Restate calls a function's ARN through it.

It also takes the follow-ups that functions leave for later, see `local.follow_ups`.
"""

from __future__ import annotations

import json
import re
import threading
from http import HTTPStatus
from urllib.parse import unquote

from local.follow_ups import PATH as FOLLOW_UPS
from local.follow_ups import FollowUps, InvalidFollowUp
from local.functions import Invoker, Throttled
from local.http_server import Handler, UnreadableBody

MOST_PAYLOAD_BYTES = 6 * 1024 * 1024
INVOKE = re.compile(r"/2015-03-31/functions/([^/?]+)/invocations(?:\?.*)?")


def lambda_service(functions: Invoker, follow_ups: FollowUps) -> type[Handler]:
    """Answers calls of functions, and takes follow-ups."""

    class LambdaService(Handler):
        def answer(self) -> None:
            try:
                payload = self.body(MOST_PAYLOAD_BYTES)
            except UnreadableBody as unreadable:
                return self._refuse(unreadable.status, "RequestTooLargeException", unreadable.status.phrase)
            if self.command == "POST" and self.path == FOLLOW_UPS:
                return self._follow_up(payload)
            call = INVOKE.fullmatch(self.path)
            if self.command != "POST" or call is None:
                return self._refuse(HTTPStatus.NOT_FOUND, "UnknownOperationException", "Not Found")
            return self._invoke(name_of(unquote(call[1])), payload or b"{}")

        def _invoke(self, name: str, payload: bytes) -> None:
            if name not in functions:
                return self._refuse(HTTPStatus.NOT_FOUND, "ResourceNotFoundException", f"Function not found: {name}")
            if self.headers.get("X-Amz-Invocation-Type") == "Event":
                threading.Thread(target=functions.invoke_quietly, args=(name, payload), daemon=True).start()
                return self.reply(HTTPStatus.ACCEPTED)
            try:
                outcome = functions.invoke(name, payload)
            except Throttled:
                return self._refuse(HTTPStatus.TOO_MANY_REQUESTS, "TooManyRequestsException", "Rate Exceeded.")
            error = () if outcome.ok else (("X-Amz-Function-Error", "Unhandled"),)
            headers = (("X-Amz-Executed-Version", "$LATEST"), *error)
            return self.reply(HTTPStatus.OK, outcome.payload, "application/json", headers)

        def _follow_up(self, payload: bytes) -> None:
            try:
                follow_ups.add(payload)
            except InvalidFollowUp as invalid:
                return self._refuse(HTTPStatus.BAD_REQUEST, "InvalidParameterValueException", str(invalid))
            return self.reply(HTTPStatus.ACCEPTED)

        def _refuse(self, status: HTTPStatus, error: str, message: str) -> None:
            body = json.dumps({"Type": "User", "Message": message}).encode()
            self.reply(status, body, "application/json", (("X-Amzn-ErrorType", error),))

    return LambdaService


def name_of(identifier: str) -> str:
    """The function's name in a name, a partial or a whole ARN, with a version or without."""
    parts = identifier.split(":")
    if "function" in parts:
        return parts[parts.index("function") + 1]
    return parts[0]
