"""Requests as events of the HTTP API, and answers as responses."""

import json
from typing import Any

import pytest

from local.http_events import InvalidAnswer, Match, Request, event_of, match_route, response_of
from local.model import Route

ROUTES = [
    Route("Api", "GET", "/api/runs", "list"),
    Route("Api", "GET", "/api/runs/{id}", "read"),
    Route("Api", "GET", "/api/runs/latest", "latest"),
    Route("Api", "ANY", "/assets/{path+}", "assets"),
    Route("Api", "POST", "/api/{kind}/{id}", "post"),
]


@pytest.mark.parametrize(
    ("method", "path", "function", "parameters"),
    [
        ("GET", "/api/runs", "list", {}),
        ("GET", "/api/runs/e-1:potassium", "read", {"id": "e-1:potassium"}),
        ("GET", "/api/runs/e-1%3Apotassium", "read", {"id": "e-1:potassium"}),
        ("GET", "/api/runs/a%2Fb", "read", {"id": "a/b"}),
        ("GET", "/api/runs/latest", "latest", {}),
        ("PUT", "/assets/js/app.js", "assets", {"path": "js/app.js"}),
        ("POST", "/api/decide/n1", "post", {"kind": "decide", "id": "n1"}),
    ],
)
def test_a_request_goes_to_the_most_specific_route(
    method: str, path: str, function: str, parameters: dict[str, str]
) -> None:
    match = match_route(ROUTES, method, path)

    assert match is not None
    assert match.route.function == function
    assert match.parameters == parameters


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("HEAD", "/api/runs"),
        ("POST", "/api/runs"),
        ("GET", "/api/runs/"),
        ("GET", "/api/runs/a/b"),
        ("GET", "/api"),
        ("GET", "/assets"),
        ("GET", "/"),
    ],
)
def test_what_no_route_names_matches_none(method: str, path: str) -> None:
    assert match_route(ROUTES, method, path) is None


def test_the_default_route_takes_the_rest() -> None:
    default = Route("Api", "ANY", "$default", "console")

    match = match_route([*ROUTES, default], "GET", "/anything")

    assert match == Match(default, {})


def event(target: str = "/api/runs", headers: list[tuple[str, str]] | None = None, body: bytes = b"") -> dict[str, Any]:
    request = Request("GET", target, headers or [], body, "127.0.0.1")
    match = match_route(ROUTES, "GET", target.partition("?")[0])
    assert match is not None
    return event_of(request, match, "Api", "127.0.0.1:3000")


def test_the_path_is_decoded_and_the_query_is_kept_raw_beside_its_decoded_parameters() -> None:
    made = event("/api/runs/a%2Fb?subject=patient%3Ap-42&tag=a&tag=b&empty=")

    assert made["rawPath"] == made["requestContext"]["http"]["path"] == "/api/runs/a/b"
    assert made["rawQueryString"] == "subject=patient%3Ap-42&tag=a&tag=b&empty="
    assert made["queryStringParameters"] == {"subject": "patient:p-42", "tag": "a,b", "empty": ""}
    assert made["pathParameters"] == {"id": "a/b"}
    assert made["routeKey"] == "GET /api/runs/{id}"


def test_header_names_are_lower_case_repeated_ones_joined_and_cookies_apart() -> None:
    made = event(headers=[("X-One", "1"), ("X-ONE", "2"), ("Cookie", "a=1; b=2")])

    assert made["headers"]["x-one"] == "1,2"
    assert "cookie" not in made["headers"]
    assert made["cookies"] == ["a=1", "b=2"]


def test_empty_fields_are_absent() -> None:
    assert event().keys().isdisjoint({"body", "cookies", "pathParameters", "queryStringParameters"})


@pytest.mark.parametrize(
    ("content_type", "body", "sent", "is_base64"),
    [
        ("application/json; charset=utf-8", "{é}".encode(), "{é}", False),
        ("text/csv", b"a,b", "a,b", False),
        ("application/cloudevents+json", b"{}", "e30=", True),
        ("application/x-www-form-urlencoded", b"a=1", "YT0x", True),
        ("application/json", b"\xff", "/w==", True),
        (None, b"{}", "e30=", True),
    ],
)
def test_a_body_is_text_for_text_types_only_and_base64_otherwise(
    content_type: str | None, body: bytes, sent: str, is_base64: bool
) -> None:
    made = event(headers=[("Content-Type", content_type)] if content_type else [], body=body)

    assert (made["body"], made["isBase64Encoded"]) == (sent, is_base64)


def test_an_answer_with_a_status_is_a_response_with_its_headers_cookies_and_body() -> None:
    answer = {"statusCode": 201, "headers": {"Location": "/x"}, "cookies": ["a=1"], "body": "é"}

    response = response_of(json.dumps(answer).encode())

    assert response.status == 201
    assert ("Location", "/x") in response.headers
    assert ("Set-Cookie", "a=1") in response.headers
    assert response.body == "é".encode()


def test_an_answer_without_a_status_is_a_json_body() -> None:
    response = response_of(b'{"a": 1}')

    assert (response.status, json.loads(response.body)) == (200, {"a": 1})


@pytest.mark.parametrize(
    "answer",
    [
        {"statusCode": "many"},
        {"statusCode": 200, "body": {}},
        {"statusCode": 200, "body": "*", "isBase64Encoded": True},
    ],
)
def test_an_answer_that_is_no_response_is_refused(answer: dict[str, Any]) -> None:
    with pytest.raises(InvalidAnswer):
        response_of(json.dumps(answer).encode())
