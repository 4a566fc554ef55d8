"""The id by which a request is followed, as it is told to Restate."""

from collections.abc import Iterator

import httpx
import pytest

from meridian import correlation
from meridian.restate.ingress import Ingress

X_RAY = "Root=1-5759e988-bd862e3fe1be46a994272793;Parent=53995c3f42cd8ad8;Sampled=1;Lineage=1:a87bd80c:0"
TRACEPARENT = "00-5759e988bd862e3fe1be46a994272793-53995c3f42cd8ad8-01"


@pytest.fixture(autouse=True)
def outside_of_any_request(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.delenv("_X_AMZN_TRACE_ID", raising=False)
    correlation.begin(None)
    yield
    correlation.begin(None)


def told_by_a_call() -> httpx.Headers:
    calls: list[httpx.Request] = []

    def answer(request: httpx.Request) -> httpx.Response:
        calls.append(request)
        return httpx.Response(202, json={"status": "Accepted"})

    Ingress("http://restate", transport=httpx.MockTransport(answer)).send_run("e:alert", {})
    return calls[0].headers


def test_call_to_restate_tells_the_request_and_its_trace(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("_X_AMZN_TRACE_ID", X_RAY)
    correlation.begin("request-1")
    headers = told_by_a_call()
    assert headers["x-correlation-id"] == "request-1"
    assert headers["traceparent"] == TRACEPARENT


def test_call_outside_of_a_request_tells_nothing() -> None:
    headers = told_by_a_call()
    assert "x-correlation-id" not in headers
    assert "traceparent" not in headers


@pytest.mark.parametrize("trace", ["", "Root=1-5759e988", "Self=1-67891234-12456789abcdef012345678"])
def test_trace_that_cannot_be_read_is_not_told(monkeypatch: pytest.MonkeyPatch, trace: str) -> None:
    monkeypatch.setenv("_X_AMZN_TRACE_ID", trace)
    assert correlation.headers() == {}
