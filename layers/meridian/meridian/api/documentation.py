"""What a route takes and answers, told beside the route and read by scripts/openapi.py alone.

A function parses its requests itself, so that a cold start does not load the models of OpenAPI. A query and a body
are told by the model that the function parses them with; answers by the name of a model in `scripts.openapi_answers`,
which no function imports.
"""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, TypeVar

from pydantic import BaseModel

Route = TypeVar("Route", bound=Callable[..., Any])

ATTRIBUTE = "__documentation__"


class Documentation(NamedTuple):
    """One route."""

    summary: str
    answers: Mapping[int, str]  # status to the name of a model
    query: tuple[type[BaseModel], ...] = ()  # several: one or the other
    body: type[BaseModel] | str | None = None  # or the name of a model
    problems: tuple[int, ...] = ()  # beside those that every such route may answer


def documented(
    summary: str,
    answers: Mapping[int, str],
    *,
    query: tuple[type[BaseModel], ...] = (),
    body: type[BaseModel] | str | None = None,
    problems: tuple[int, ...] = (),
) -> Callable[[Route], Route]:
    """Tells what the decorated route does; stands below the line that names its method and path."""

    def tell(route: Route) -> Route:
        setattr(route, ATTRIBUTE, Documentation(summary, answers, query, body, problems))
        return route

    return tell
