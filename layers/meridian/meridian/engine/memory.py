"""The engine's side of workflow memory: a client of the internal API."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from meridian import clock, jsontext
from meridian.engine.http import AnswerTooLarge, NoAnswer, exchange, is_passing
from meridian.engine.model import Json

TRY_TIMEOUT_SECONDS = 5.0


class MemoryClient(Protocol):
    """Each call answers `{"at", "status", "body"}`, or `{"at", "failed": reason}` when it gave up."""

    async def read(self, body: Json) -> Json: ...

    async def write(self, body: Json) -> Json: ...

    async def forget(self, body: Json) -> Json: ...


class Signer(Protocol):
    """Signs a request of the internal API."""

    def __call__(self, method: str, url: str, headers: Mapping[str, str], content: bytes) -> dict[str, str]: ...


class HttpMemoryClient:
    """Calls `POST <url>/api/internal/memory/…`.

    Up to five tries over about five seconds on a network error or a 5xx, as the specification says, and on a 429 of
    the API's gateway, which has not passed it on. A write that is tried again after it happened is known by its
    writer and answered as a success.
    """

    def __init__(self, url: str, signer: Signer | None = None, delays: Sequence[float] = (0.3, 0.6, 1.2, 2.4)) -> None:
        self._url = url.rstrip("/")
        self._signer = signer
        self._delays = delays  # seconds between two tries

    async def read(self, body: Json) -> Json:
        return await self._call("read", body)

    async def write(self, body: Json) -> Json:
        return await self._call("write", body)

    async def forget(self, body: Json) -> Json:
        return await self._call("forget", body)

    async def _call(self, operation: str, body: Json) -> Json:
        content = jsontext.serialize(body).encode()
        for delay in (*self._delays, None):
            answer = await self._try(operation, content)
            if answer is not None:
                return {"at": clock.now(), **answer}
            if delay is not None:
                await asyncio.sleep(delay)
        return {"at": clock.now(), "failed": "workflow memory is out of reach"}

    async def _try(self, operation: str, content: bytes) -> Json | None:
        """The answer, None when the call may succeed later."""
        url = f"{self._url}/api/internal/memory/{operation}"
        headers = {"content-type": "application/json"}
        if self._signer is not None:  # anew for each try: a signature holds its time
            headers |= self._signer("POST", url, headers, content)
        try:
            answer = await exchange("POST", url, headers, content, TRY_TIMEOUT_SECONDS)
        except NoAnswer:
            return None
        except AnswerTooLarge:
            return {"failed": "the answer of workflow memory is larger than 1 MiB"}
        if is_passing(answer.status):  # a 429 is of the gateway before it
            return None
        return {"status": answer.status, "body": _json(answer.content)}


def _json(content: bytes) -> Any:
    try:
        return jsontext.parse(content) if content else None
    except jsontext.InvalidJson:
        return None
