"""Calls over HTTP inside a durable step: several tries, one deadline for each, an answer of bounded size."""

import asyncio
import ssl
import time
from collections.abc import Mapping, Sequence
from functools import cache
from typing import NamedTuple

import httpx

from meridian import clock, jsontext
from meridian.engine.model import HttpCall, Json

MAX_ANSWER_BYTES = 1024 * 1024
# All tries of a call together: a step must end within the time that the engine's function has.
CALL_SECONDS = 45.0
SHORTEST_TRY_SECONDS = 0.1

_FROM_US = {"user-agent": "meridian"}
_SERVER_ERROR = 500
_TOO_MANY_REQUESTS = 429


class NoAnswer(Exception):
    """The other side cannot be reached, or breaks off. The message is the kind of fault alone."""


class AnswerTooLarge(Exception):
    """The answer is larger than is read."""


class Answer(NamedTuple):
    """What the other side answered."""

    status: int
    content_type: str
    content: bytes


async def exchange(method: str, url: str, headers: Mapping[str, str], content: bytes | None, timeout: float) -> Answer:
    """One try. Redirects are not followed, proxies and `.netrc` of the environment are not used.

    :raises NoAnswer: also when the whole answer is not there within `timeout` seconds.
    :raises AnswerTooLarge: for more than 1 MiB.
    """
    try:
        async with (
            asyncio.timeout(timeout),
            httpx.AsyncClient(verify=_tls(), trust_env=False, timeout=timeout, headers=_FROM_US) as client,
            client.stream(method, url, headers=headers, content=content) as response,
        ):
            body = bytearray()
            async for part in response.aiter_bytes():
                body += part
                if len(body) > MAX_ANSWER_BYTES:
                    raise AnswerTooLarge
            return Answer(response.status_code, response.headers.get("content-type", ""), bytes(body))
    except TimeoutError:
        raise NoAnswer("Timeout") from None
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        raise NoAnswer(type(error).__name__) from None


@cache
def _tls() -> ssl.SSLContext:
    """Made once: it costs more than a call. Clients are made per call, since a frozen Lambda's sockets die."""
    return httpx.create_ssl_context(trust_env=False)


def is_passing(status: int) -> bool:
    """Whether the same call may succeed later."""
    return status >= _SERVER_ERROR or status == _TOO_MANY_REQUESTS


class HttpCaller:
    """Makes the call of an `http` node: up to three tries on a network error, a 5xx or a 429, within one deadline."""

    def __init__(self, delays: Sequence[float] = (0.5, 1.0), seconds: float = CALL_SECONDS) -> None:
        self._delays = delays  # seconds between two tries
        self._seconds = seconds  # for all of them

    async def call(self, call: HttpCall) -> Json:
        """The answer as the execution takes it: `{"at", "status", "body"}`, or `{"at", "failed": reason}`."""
        try:
            answer = await self._tries(call)
        except AnswerTooLarge:
            answer = {"failed": "the service's answer is larger than 1 MiB"}
        return {"at": clock.now(), **answer}

    async def _tries(self, call: HttpCall) -> Json:
        reason, tries = "", 0
        end = time.monotonic() + self._seconds
        for delay in (*self._delays, None):
            tries += 1
            timeout = min(call.timeout, end - time.monotonic())
            try:
                answer = await exchange(call.method, call.url, call.headers, call.content, timeout)
                if not is_passing(answer.status):
                    return _read(answer)
                reason = f"the service answered {answer.status}"
            except NoAnswer as error:
                reason = f"the service does not answer ({error})"
            if delay is None or time.monotonic() + delay + SHORTEST_TRY_SECONDS > end:
                break
            await asyncio.sleep(delay)
        return {"failed": f"{reason}, {tries} {'try' if tries == 1 else 'tries'}"}


def _read(answer: Answer) -> Json:
    """JSON with its digits, other text as a string, null for nothing."""
    if not answer.content:
        return {"status": answer.status, "body": None}
    kind, _, parameters = answer.content_type.partition(";")
    if kind.strip().lower().endswith(("/json", "+json")):
        try:
            return {"status": answer.status, "body": jsontext.parse_sent(answer.content)}
        except jsontext.InvalidJson:
            return {"failed": "the service's answer is not the JSON that it says it is"}
    charset = "latin-1" if "iso-8859-1" in parameters.lower() else "utf-8"
    return {"status": answer.status, "body": answer.content.decode(charset, "replace")}
