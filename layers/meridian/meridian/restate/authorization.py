"""The key by which Restate Cloud, or a gateway before a cluster, knows this control plane."""

from http import HTTPStatus
from typing import Protocol

import httpx

REFUSED = (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN)


class ApiKey(Protocol):
    """A key that may be replaced while this process runs."""

    def text(self) -> str: ...

    def renewed(self) -> str: ...


class KeyedTransport(httpx.BaseTransport):
    """Sends the key with each request; when it is refused, once more with the key as it is now."""

    def __init__(self, transport: httpx.BaseTransport, key: ApiKey) -> None:
        self._transport = transport
        self._key = key

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        key = self._key.text().strip()
        request.headers["authorization"] = f"Bearer {key}"
        response = self._transport.handle_request(request)
        # A run may end with these codes, too: then Restate says that the invocation is their source.
        if response.status_code not in REFUSED or response.headers.get("x-restate-error-source") == "invocation":
            return response
        renewed = self._key.renewed().strip()
        if renewed == key:
            return response
        response.close()
        request.headers["authorization"] = f"Bearer {renewed}"
        return self._transport.handle_request(request)

    def close(self) -> None:
        self._transport.close()


def keyed(transport: httpx.BaseTransport, key: ApiKey | None) -> httpx.BaseTransport:
    """`transport`, its requests with `key` where there is one."""
    return transport if key is None else KeyedTransport(transport, key)
