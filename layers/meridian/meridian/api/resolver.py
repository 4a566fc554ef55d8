"""The resolver of a function's routes: every error becomes a problem document."""

from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import quote

from aws_lambda_powertools.event_handler import APIGatewayHttpResolver, Response
from aws_lambda_powertools.utilities.typing import LambdaContext

from meridian import jsontext
from meridian.errors import NotFound, ProblemError, Unavailable
from meridian.observability import correlate, log_unexpected, observed

JSON = "application/json"
PROBLEM = "application/problem+json"


def make_resolver() -> APIGatewayHttpResolver:
    """A resolver that answers every error as `application/problem+json`."""
    resolver = APIGatewayHttpResolver(serializer=jsontext.serialize)

    resolver.exception_handler(ProblemError)(_answer_problem)
    resolver.exception_handler(Exception)(_answer_unexpected)
    resolver.not_found(lambda _: _answer_problem(NotFound("There is no such route.")))
    return resolver


def _answer_problem(error: ProblemError) -> Response[str]:
    headers = {}
    if isinstance(error, Unavailable):
        headers["Retry-After"] = str(error.retry_after_seconds)
    return _problem(error.status, error.as_json(), headers)


def _answer_unexpected(error: Exception) -> Response[str]:
    log_unexpected(error)
    return _problem(500, ProblemError("The request could not be answered.").as_json())


def json_response(body: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Response[str]:
    """An answer in JSON that no cache keeps."""
    return Response(
        status_code=status,
        content_type=JSON,
        body=jsontext.serialize(body),
        headers={"Cache-Control": "no-store", **(headers or {})},
    )


def request_path_parameter(resolver: APIGatewayHttpResolver, name: str) -> str:
    """A path parameter as API Gateway decoded it."""
    return str((resolver.current_event.path_parameters or {})[name])


def http_handler(
    resolver: APIGatewayHttpResolver, other: Callable[[dict[str, Any], LambdaContext], Any] | None = None
) -> Callable[[dict[str, Any], LambdaContext], Any]:
    """The Lambda handler of `resolver`; events that are no HTTP request go to `other`."""

    @observed
    def handler(event: dict[str, Any], context: LambdaContext) -> Any:
        if other is not None and "requestContext" not in event:
            return other(event, context)
        request_id = event.get("requestContext", {}).get("requestId")
        if request_id:
            correlate(request_id)
        try:
            return resolver.resolve(_routable(event), context)
        except Exception as error:  # what the resolver itself could not read
            log_unexpected(error)
            body = ProblemError("The request could not be answered.").as_json()
            headers = {"Content-Type": PROBLEM}
            return {"statusCode": 500, "headers": headers, "body": jsontext.serialize(body)}

    return handler


def _routable(event: dict[str, Any]) -> dict[str, Any]:
    """The event with its path encoded again: the resolver's patterns know no other characters than those.

    A parameter is read from `pathParameters`, where API Gateway put it decoded.
    """
    return {**event, "rawPath": quote(event.get("rawPath", ""), safe="/:%")}


def _problem(status: int, body: Mapping[str, Any], headers: Mapping[str, str] | None = None) -> Response[str]:
    return Response(
        status_code=status,
        content_type=PROBLEM,
        body=jsontext.serialize(body),
        headers={"Cache-Control": "no-store", **(headers or {})},
    )
