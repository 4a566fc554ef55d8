"""Serves one HTTP API of the template on the loopback interface."""

from __future__ import annotations

import json
from collections.abc import Sequence
from http import HTTPStatus

from local.functions import Invoker, Throttled
from local.http_events import InvalidAnswer, Request, Response, event_of, match_route, response_of
from local.http_server import Handler, UnreadableBody
from local.model import Route

MOST_BODY_BYTES = 10 * 1024 * 1024
"""The most that API Gateway takes."""

# These the server sends itself, for the connection it has.
OF_THE_CONNECTION = frozenset({"connection", "content-length", "date", "server", "transfer-encoding"})


def http_api(name: str, routes: Sequence[Route], functions: Invoker) -> type[Handler]:
    """Answers requests to the routes of the API `name`."""
    own = [route for route in routes if route.api == name]

    class Api(Handler):
        def answer(self) -> None:
            try:
                body = self.body(MOST_BODY_BYTES)
            except UnreadableBody as unreadable:
                response = refusal(unreadable.status)
            else:
                request = Request(self.command, self.path, self.headers.items(), body, self.client_address[0])
                response = respond(request, own, functions, name, self.headers.get("Host", ""))
            headers = tuple(pair for pair in response.headers if pair[0].lower() not in OF_THE_CONNECTION)
            self.reply(response.status, response.body, headers=headers)

    return Api


def respond(request: Request, routes: Sequence[Route], functions: Invoker, api: str, domain: str) -> Response:
    """What the function of the route answers; else what API Gateway answers in its place."""
    match = match_route(routes, request.method, request.target.partition("?")[0])
    if match is None:
        return refusal(HTTPStatus.NOT_FOUND)
    event = event_of(request, match, api, domain)
    try:
        outcome = functions.invoke(match.route.function, json.dumps(event).encode())
        return response_of(outcome.payload) if outcome.ok else refusal(HTTPStatus.INTERNAL_SERVER_ERROR)
    except Throttled:
        return refusal(HTTPStatus.SERVICE_UNAVAILABLE)
    except InvalidAnswer:
        return refusal(HTTPStatus.INTERNAL_SERVER_ERROR)


def refusal(status: HTTPStatus) -> Response:
    return Response(status, (("Content-Type", "application/json"),), json.dumps({"message": status.phrase}).encode())
