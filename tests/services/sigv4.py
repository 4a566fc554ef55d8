"""The other side of Signature Version 4: whether a request, as it came in, is signed by who holds the secret.

Written from AWS's description and without botocore, which made the signature:
https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html
"""

from __future__ import annotations

import hmac
import re
from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import sha256
from urllib.parse import quote, unquote

_AUTHORIZATION = re.compile(
    r"AWS4-HMAC-SHA256 Credential=(?P<key>[^/]+)/(?P<scope>[^,]+), "
    r"SignedHeaders=(?P<names>[^,]+), Signature=(?P<signature>[0-9a-f]{64})"
)


@dataclass(frozen=True)
class Received:
    """A request as it stood on the wire."""

    method: str
    target: str  # path and query
    headers: tuple[tuple[str, str], ...]
    content: bytes

    def header(self, name: str) -> str:
        return ",".join(value for known, value in self.headers if known.lower() == name)


def is_signed(request: Received, secret: str) -> bool:
    """Whether the signature in `Authorization` is the one of this request and this secret."""
    found = _AUTHORIZATION.fullmatch(request.header("authorization"))
    assert found is not None, request.header("authorization")
    path, _, query = request.target.partition("?")
    names = found["names"].split(";")
    assert {"host", "x-amz-date"} <= set(names)
    canonical = "\n".join(
        [
            request.method,
            _canonical_path(path),
            _canonical_query(query),
            *(f"{name}:{' '.join(request.header(name).split())}" for name in names),
            "",
            found["names"],
            sha256(request.content).hexdigest(),
        ]
    )
    text = "\n".join(
        ["AWS4-HMAC-SHA256", request.header("x-amz-date"), found["scope"], sha256(canonical.encode()).hexdigest()]
    )
    signature = _hmac(_signing_key(secret, found["scope"].split("/")), text).hex()
    return hmac.compare_digest(signature, found["signature"])


def _canonical_path(path: str) -> str:
    """Without empty and relative segments, and percent-encoded once more than it was sent."""
    kept: list[str] = []
    for segment in path.split("/"):
        if segment == "..":
            kept = kept[:-1]
        elif segment not in ("", "."):
            kept.append(quote(segment, safe="-_.~"))
    closing = "/" if kept and path.endswith("/") else ""
    return "/" + "/".join(kept) + closing


def _canonical_query(query: str) -> str:
    pairs = (pair.partition("=") for pair in query.split("&") if pair)
    encoded = ((_encoded(name), _encoded(value)) for name, _, value in pairs)
    return "&".join(f"{name}={value}" for name, value in sorted(encoded))


def _encoded(text: str) -> str:
    return quote(unquote(text), safe="-_.~")


def _signing_key(secret: str, scope: Iterable[str]) -> bytes:
    key = f"AWS4{secret}".encode()
    for part in scope:  # date, region, service, aws4_request
        key = _hmac(key, part)
    return key


def _hmac(key: bytes, text: str) -> bytes:
    return hmac.new(key, text.encode(), sha256).digest()
