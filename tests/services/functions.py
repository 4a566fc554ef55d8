"""A function's handler in this process, called with the documents that AWS makes."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any
from urllib.parse import urlencode

import pytest

from local.http_events import Match, Request, event_of
from local.model import Route
from meridian import jsontext

ROOT = Path(__file__).resolve().parents[2]
SETTINGS = ("RUN_DB_URL", "RUN_DB_SECRET_ARN", "DEFINITION_STORE_URL", "AWS_LAMBDA_FUNCTION_NAME")


@dataclass
class Context:
    """What Lambda tells a handler of its invocation."""

    remaining_millis: int = 30_000
    function_name: str = "function"
    memory_limit_in_mb: int = 512
    invoked_function_arn: str = "arn:aws:lambda:eu-west-1:123456789012:function:function"
    aws_request_id: str = "8f5f0f7e-0000-4000-8000-000000000000"
    tenant_id: None = None
    log_group_name: str = "/aws/lambda/function"

    def get_remaining_time_in_millis(self) -> int:
        return self.remaining_millis


@dataclass(frozen=True)
class Answer:
    status: int
    headers: Mapping[str, str]
    text: str

    @property
    def json(self) -> Any:
        return jsontext.parse(self.text)


def load_function(name: str, monkeypatch: pytest.MonkeyPatch, **environment: str) -> ModuleType:
    """The module of `functions/<name>/app.py`, made anew with no other settings than these."""
    for setting in SETTINGS:
        monkeypatch.delenv(setting, raising=False)
    for setting, value in environment.items():
        monkeypatch.setenv(setting, value)
    return imported(name)


def imported(name: str) -> ModuleType:
    """The module of `functions/<name>/app.py`, made anew."""
    spec = importlib.util.spec_from_file_location(f"{name}_app", ROOT / "functions" / name / "app.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def http_event(method: str, path: str, body: Any = None, query: Mapping[str, str] | None = None) -> dict[str, Any]:
    """A request as its HTTP API hands it over; `body` is sent as JSON, or as it is when it is bytes."""
    content = body if isinstance(body, bytes) else b"" if body is None else jsontext.serialize(body).encode()
    target = f"{path}?{urlencode(query)}" if query else path
    request = Request(method, target, [("content-type", "application/json")], content, "127.0.0.1")
    return event_of(request, Match(Route("Api", method, path, "function"), {}), "api", "api.local:80")


@dataclass(frozen=True)
class Api:
    """The routes of one function."""

    function: ModuleType

    def call(self, method: str, path: str, body: Any = None, query: Mapping[str, str] | None = None) -> Answer:
        return self.send(http_event(method, path, body, query))

    def send(self, event: dict[str, Any]) -> Answer:
        answer = self.function.handler(event, Context())
        headers = {name.lower(): value for name, value in answer["headers"].items()}
        return Answer(answer["statusCode"], headers, answer["body"])
