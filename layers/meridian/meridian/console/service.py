"""What the console answers to a request: a file, the page, or how to sign in."""

import base64
from collections.abc import Mapping, Sequence
from typing import Any

from meridian import jsontext
from meridian.console.assets import Asset, Assets
from meridian.console.headers import origin, security_headers

HOME = "/console/runs"
ASSETS = "/console/assets/"
CONFIG = "/console/config.json"

KEPT_FOR_EVER = "public, max-age=31536000, immutable"
ASKED_EACH_TIME = "no-cache"
NEVER_KEPT = "no-store"


class Console:
    """Answers of the HTTP API's payload 2.0.

    `sign_in` is `{"issuer", "clientId", "audience"}`, or None where the API is open; `identity_origins` are the
    provider's origins besides the issuer's.
    """

    def __init__(self, assets: Assets, sign_in: Mapping[str, str] | None, identity_origins: Sequence[str] = ()) -> None:
        self._assets = assets
        self._config = Asset("application/json", jsontext.serialize({"signIn": sign_in}).encode())
        origins = [origin(sign_in["issuer"]), *identity_origins] if sign_in is not None else []
        self._headers = security_headers(list(dict.fromkeys(origins)))

    def answer(self, path: str, request_headers: Mapping[str, str]) -> dict[str, Any]:
        """The answer to a GET of `path`; the names of the request's headers are in lower case."""
        if path == "/":
            return self._plain(302, "", {"Location": HOME, "Cache-Control": NEVER_KEPT})
        if path == CONFIG:
            return self._file(self._config, ASKED_EACH_TIME, request_headers)
        if not path.startswith(ASSETS):
            # Any other address is one of the page's own: it knows which of them exist.
            return self._file(self._assets.page, ASKED_EACH_TIME, request_headers)
        release, _, name = path.removeprefix(ASSETS).partition("/")
        asset = self._assets.get(name)
        if asset is None:
            return self._plain(404, "Not found\n", {"Cache-Control": NEVER_KEPT})
        # A page that was opened before a deployment is served the files of today, which must not be kept as its own.
        kept = KEPT_FOR_EVER if release == self._assets.release else NEVER_KEPT
        return self._file(asset, kept, request_headers)

    def _file(self, asset: Asset, cache_control: str, request_headers: Mapping[str, str]) -> dict[str, Any]:
        compressed = "gzip" in request_headers.get("accept-encoding", "")
        etag = f'"{asset.etag}{"-gzip" if compressed else ""}"'
        headers = {**self._headers, "Cache-Control": cache_control, "ETag": etag, "Vary": "Accept-Encoding"}
        if etag in request_headers.get("if-none-match", ""):
            return {"statusCode": 304, "headers": headers}
        headers["Content-Type"] = asset.content_type
        if compressed:
            headers["Content-Encoding"] = "gzip"
        body = asset.gzipped if compressed else asset.body
        return {
            "statusCode": 200,
            "headers": headers,
            "body": base64.b64encode(body).decode(),
            "isBase64Encoded": True,
        }

    def _plain(self, status: int, body: str, headers: Mapping[str, str]) -> dict[str, Any]:
        content_type = {"Content-Type": "text/plain; charset=utf-8"}
        return {"statusCode": status, "headers": {**self._headers, **content_type, **headers}, "body": body}
