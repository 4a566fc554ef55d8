"""An HTTP request as the event of API Gateway's HTTP API (payload 2.0), a function's answer as a response.

As the real one does it, where that differs from what SAM CLI's emulator does: the path is matched before it is
decoded, so that `%2F` stays within one parameter; `rawPath` is decoded all the same; header names are lower case;
empty fields are absent; a body is text only for a few content types, otherwise base64; a method that no route
names, HEAD included, is 404.
"""

from __future__ import annotations

import base64
import json
import time
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from local.model import Route

TEXT_TYPES = ("application/json", "application/xml", "application/javascript")


@dataclass(frozen=True)
class Request:
    method: str
    target: str  # path and query as sent
    headers: Sequence[tuple[str, str]]
    body: bytes
    source_ip: str


@dataclass(frozen=True)
class Match:
    route: Route
    parameters: Mapping[str, str]  # decoded


@dataclass(frozen=True)
class Response:
    status: int
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes = b""


class InvalidAnswer(Exception):
    """A function answered what API Gateway cannot turn into a response; what it was may name subjects."""


def match_route(routes: Sequence[Route], method: str, raw_path: str) -> Match | None:
    """The most specific route that matches: literal segments before parameters, `{name+}`, then `$default`."""
    matches = [
        Match(route, parameters)
        for route in routes
        if route.method in (method, "ANY") and (parameters := _parameters(route.path, raw_path)) is not None
    ]
    return min(matches, key=lambda match: _openness(match.route), default=None)


def _openness(route: Route) -> tuple[Any, ...]:
    """Orders routes from the most specific to the least."""
    segments = route.path.split("/")
    return (
        route.path == "$default",
        "+}" in route.path,
        -len(segments),
        [segment.startswith("{") for segment in segments],
        route.method == "ANY",
    )


def _parameters(pattern: str, raw_path: str) -> dict[str, str] | None:
    """The decoded path parameters, or None when the path does not match."""
    if pattern == "$default":
        return {}
    wanted, given = pattern.split("/"), raw_path.split("/")
    parameters: dict[str, str] = {}
    if wanted[-1].endswith("+}"):
        if len(given) < len(wanted):
            return None
        rest = len(wanted) - 1
        parameters[wanted[-1][1:-2]] = unquote("/".join(given[rest:]))
        wanted, given = wanted[:rest], given[:rest]
    if len(wanted) != len(given):
        return None
    for segment, value in zip(wanted, given, strict=True):
        if segment.startswith("{") and value:
            parameters[segment[1:-1]] = unquote(value)
        elif segment != unquote(value):
            return None
    return parameters


def event_of(request: Request, match: Match, api: str, domain: str) -> dict[str, Any]:
    """https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-develop-integrations-lambda.html"""
    target = urlsplit(request.target)
    now = datetime.now(UTC)
    headers: dict[str, str] = {}
    cookies: list[str] = []
    for name, value in request.headers:
        lowered = name.lower()
        if lowered == "cookie":
            cookies += [part.strip() for part in value.split(";")]
        else:
            headers[lowered] = f"{headers[lowered]},{value}" if lowered in headers else value
    headers |= {
        "x-forwarded-for": request.source_ip,
        "x-forwarded-proto": "http",
        "x-forwarded-port": domain.rpartition(":")[2],
    }
    query: dict[str, str] = {}
    for name, value in parse_qsl(target.query, keep_blank_values=True):
        query[name] = f"{query[name]},{value}" if name in query else value
    route_key = match.route.path if match.route.path == "$default" else f"{match.route.method} {match.route.path}"
    path = unquote(target.path)
    event: dict[str, Any] = {
        "version": "2.0",
        "routeKey": route_key,
        "rawPath": path,
        "rawQueryString": target.query,
        "headers": headers,
        "requestContext": {
            "accountId": "123456789012",
            "apiId": api,
            "domainName": domain,
            "domainPrefix": api,
            "http": {
                "method": request.method,
                "path": path,
                "protocol": "HTTP/1.1",
                "sourceIp": request.source_ip,
                "userAgent": headers.get("user-agent", ""),
            },
            "requestId": str(uuid.uuid4()),
            "routeKey": route_key,
            "stage": "$default",
            "time": now.strftime("%d/%b/%Y:%H:%M:%S +0000"),
            "timeEpoch": int(time.time() * 1000),
        },
        "isBase64Encoded": False,
    }
    optional = {"cookies": cookies, "queryStringParameters": query, "pathParameters": dict(match.parameters)}
    event |= {name: value for name, value in optional.items() if value}
    if request.body:
        event["body"], event["isBase64Encoded"] = _body(request.body, headers.get("content-type", ""))
    return event


def _body(body: bytes, content_type: str) -> tuple[str, bool]:
    """The body as text, or in base64 and True for a content type, or bytes, that are no text."""
    essence = content_type.partition(";")[0].strip().lower()
    if essence.startswith("text/") or essence in TEXT_TYPES:
        try:
            return body.decode(), False
        except UnicodeDecodeError:
            pass
    return base64.b64encode(body).decode(), True


def response_of(payload: bytes) -> Response:
    """A function's answer as a response: with `statusCode`, or any JSON as a body. Raises `InvalidAnswer`."""
    answer = json.loads(payload)
    if not isinstance(answer, dict) or "statusCode" not in answer:
        body = answer if isinstance(answer, str) else json.dumps(answer)
        return Response(200, (("Content-Type", "application/json"),), body.encode())
    headers = {str(name): str(value) for name, value in (answer.get("headers") or {}).items()}
    if not any(name.lower() == "content-type" for name in headers):
        headers["Content-Type"] = "text/plain;charset=UTF-8"
    cookies = [("Set-Cookie", str(cookie)) for cookie in answer.get("cookies") or []]
    content = answer.get("body")
    if not isinstance(content, str | None):
        raise InvalidAnswer
    text = content or ""
    try:
        sent = base64.b64decode(text, validate=True) if answer.get("isBase64Encoded") else text.encode()
        return Response(int(answer["statusCode"]), (*headers.items(), *cookies), sent)
    except (ValueError, TypeError):
        raise InvalidAnswer from None
