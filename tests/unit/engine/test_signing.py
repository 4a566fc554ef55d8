"""Calls of the internal API are signed as API Gateway's IAM authorization asks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread
from typing import Any

import pytest

from meridian.engine import signing
from meridian.engine.http import exchange
from meridian.engine.memory import HttpMemoryClient
from meridian.engine.signing import SigV4Signer
from meridian.errors import ConfigurationError
from tests.services.coroutines import answer_to
from tests.services.sigv4 import Received, is_signed

SECRET = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"
SUITE = "https://example.amazonaws.com"
SUITE_TOKEN = (
    "AQoDYXdzEPT//////////wEXAMPLEtc764bNrC9SAPBSM22wDOk4x4HIZ8j4FZTwdQWLWsKWHGBuFqwAeMicRXmxfpSPfIeoIYRqTflfKD8YUuwthAx"
    "7mSEI/qkPpKPi/kMcGdQrmGdeehM4IC1NtBmUpp2wUE8phUZampKsburEDy0KPkyQDYwT7WZ0wq5VSXDvp75YU9HFvlRd8Tx6q6fE8YQcHNVXAkiY9q6d"
    "+xo0rKwT38xVqr7ZD0u0iPPkUL64lIZbqBAz+scqKmlzm8FDrypNC9Yjc8fPOLn9FX9KSYvKTr4rvx3iSIlTJabIQwj2ICCR/oLxBA=="
)
FORM = {"content-type": "application/x-www-form-urlencoded"}
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

VECTORS: dict[str, tuple[str, str, Mapping[str, str], bytes, str]] = {
    "get-vanilla": ("GET", "/", {}, b"", "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"),
    "get-unreserved": (
        *("GET", f"/-._~0123456789{LETTERS}", {}, b""),
        "07ef7494c76fa4850883e2b006601f940f8a34d404d0cfa977f52a65bbf5f24f",
    ),
    "get-vanilla-query-order-key-case": (
        *("GET", "/?Param2=value2&Param1=value1", {}, b""),
        "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500",
    ),
    "get-vanilla-utf8-query": (
        *("GET", "/?ሴ=bar", {}, b""),
        "2cdec8eed098649ff3a119c94853b13c643bcf08f8b0a1d91e12c9027818dd04",
    ),
    "post-vanilla": ("POST", "/", {}, b"", "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b"),
    "post-x-www-form-urlencoded": (
        *("POST", "/", FORM, b"Param1=value1"),
        "ff11897932ad3f4e8b18135d722051e5ac45fc38421b1da7b9d196a0fe09473a",
    ),
}
"""Of AWS's published test suite: method, address, headers, content, and the signature that they have."""


@pytest.fixture
def signer(monkeypatch: pytest.MonkeyPatch) -> SigV4Signer:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    monkeypatch.delenv("AWS_SESSION_TOKEN", raising=False)
    return SigV4Signer()


@pytest.fixture
def at_the_time_of_the_suite(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("botocore.auth.get_current_datetime", lambda: datetime(2015, 8, 30, 12, 36, tzinfo=UTC))
    monkeypatch.setattr(signing, "SERVICE", "service")


@pytest.mark.usefixtures("at_the_time_of_the_suite")
@pytest.mark.parametrize("vector", VECTORS)
def test_signature_is_the_published_one(signer: SigV4Signer, vector: str) -> None:
    method, path, headers, content, signature = VECTORS[vector]
    added = signer(method, SUITE + path, headers, content)
    assert added["Authorization"].endswith(f"Signature={signature}")
    assert added["Authorization"].startswith(
        "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request, "
    )
    received = Received(method, path, (("host", "example.amazonaws.com"), *headers.items(), *added.items()), content)
    assert is_signed(received, SECRET)
    assert not is_signed(received, "another secret")


@pytest.mark.usefixtures("at_the_time_of_the_suite")
def test_session_token_is_sent_and_signed(signer: SigV4Signer, monkeypatch: pytest.MonkeyPatch) -> None:
    """The suite's `post-sts-header-before`: a function's role always has a token."""
    monkeypatch.setenv("AWS_SESSION_TOKEN", SUITE_TOKEN)
    added = signer("POST", f"{SUITE}/", {}, b"")
    assert added["X-Amz-Security-Token"] == SUITE_TOKEN
    assert added["Authorization"].endswith(
        "SignedHeaders=host;x-amz-date;x-amz-security-token, "
        "Signature=85d96828115b5dc0cfc3bd16ad9e210dd772bbebba041836c64533a82be05ead"
    )


@pytest.fixture
def received() -> Iterator[tuple[str, list[Received]]]:
    """The address of a server, and the requests that it was sent, as they stood on the wire."""
    requests: list[Received] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            content = self.rfile.read(int(self.headers["content-length"]))
            requests.append(Received(self.command, self.path, tuple(self.headers.items()), content))
            self.send_response(503 if len(requests) == 1 else 200)
            self.send_header("content-length", "0")
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}", requests
    server.shutdown()
    server.server_close()


@pytest.mark.parametrize(
    ("target", "headers", "content"),
    [
        ("", {}, b""),
        ("/a%20stage/é🩸/~x", {"content-type": "application/json"}, '{"é":"🩸"}'.encode()),
        ("/a stage/b%2Fc/d%25e/(f)!*'", {}, bytes(range(256))),
        ("/a//b/./c/../d/", {}, b"{}"),
        ("/a:b@c/d;e=f,g/h+i&j", {}, b"{}"),
        ("/a?z=1&a=2&a=1&empty=&Z=é&b=c/d:e@f&g=~h*('i')!", {}, b"{}"),
        ("/a?with%20space=one%20two&percent=%25&and=%26", {}, b"{}"),
        ("/a", {"x-note": "two   spaces", "x-more": "a,b;c=d"}, b"{}"),
        ("/a", {}, b"x" * 300_000),
    ],
)
def test_what_is_sent_is_what_was_signed(
    signer: SigV4Signer,
    monkeypatch: pytest.MonkeyPatch,
    received: tuple[str, list[Received]],
    target: str,
    headers: dict[str, str],
    content: bytes,
) -> None:
    monkeypatch.setenv("AWS_SESSION_TOKEN", SUITE_TOKEN)
    address, requests = received
    url = address + target
    signed = headers | signer("POST", url, headers, content)
    answer_to(exchange("POST", url, signed, content, timeout=5))
    assert is_signed(requests[0], SECRET)
    altered = Received("POST", requests[0].target, requests[0].headers, content + b" ")
    assert not is_signed(altered, SECRET)


def test_each_try_of_a_memory_call_is_signed(signer: SigV4Signer, received: tuple[str, list[Received]]) -> None:
    address, requests = received
    client = HttpMemoryClient(address, signer, delays=(0.0,))
    answer_to(client.write({"key": "k", "value": "é"}))
    assert [request.target for request in requests] == ["/api/internal/memory/write"] * 2
    assert all(is_signed(request, SECRET) for request in requests)
    scope = requests[0].header("authorization").partition("Credential=")[2].partition(",")[0]
    assert scope.endswith("/us-east-1/execute-api/aws4_request")


def test_without_a_region_there_is_a_sentence(monkeypatch: pytest.MonkeyPatch, tmp_path: object) -> None:
    for name in ("AWS_REGION", "AWS_DEFAULT_REGION", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_CONFIG_FILE", f"{tmp_path}/none")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    with pytest.raises(ConfigurationError, match="API_INTERNAL_AUTH"):
        SigV4Signer()("POST", "https://internal.example/", {}, b"")
