"""The key by which Restate Cloud, or a gateway before a cluster, knows this control plane."""

from collections.abc import Generator
from http import HTTPStatus
from typing import Protocol

import httpx

REFUSED = (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN)


class ApiKey(Protocol):
    """A key that may be replaced while this process runs."""

    def text(self) -> str: ...

    def renewed(self) -> str: ...


class BearerKey(httpx.Auth):
    """Sends the key with each request; when it is refused, once more with the key as it is now."""

    def __init__(self, key: ApiKey) -> None:
        self._key = key

    def auth_flow(self, request: httpx.Request) -> Generator[httpx.Request, httpx.Response, None]:
        key = self._key.text().strip()
        request.headers["authorization"] = f"Bearer {key}"
        response = yield request
        # A run may end with these codes, too: then Restate says that the invocation is their source.
        is_refused = response.status_code in REFUSED
        if is_refused and response.headers.get("x-restate-error-source") != "invocation":
            renewed = self._key.renewed().strip()
            if renewed != key:
                request.headers["authorization"] = f"Bearer {renewed}"
                yield request


def bearer(key: ApiKey | None) -> BearerKey | None:
    return None if key is None else BearerKey(key)
