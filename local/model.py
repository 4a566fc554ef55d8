"""What the stack takes from a template: functions, the routes and schedules that call them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Function:
    """One function of the template."""

    name: str  # its logical id
    handler: str  # such as app.handler
    code: Path
    layers: tuple[Path, ...]  # folders to import from
    environment: Mapping[str, str]
    timeout: float  # seconds
    memory: int  # MB
    reserved_concurrency: int | None  # None: none reserved


@dataclass(frozen=True)
class Route:
    """A method and a path of an HTTP API, and the function that answers it."""

    api: str  # the API's logical id
    method: str  # upper case; ANY for all of them
    path: str  # such as /api/runs/{id}
    function: str


@dataclass(frozen=True)
class Schedule:
    """A function called at a fixed rate."""

    function: str
    seconds: float
    input: str | None  # a JSON text, in place of the event that EventBridge makes


@dataclass(frozen=True)
class Application:
    """All that a template says of functions and of what calls them."""

    functions: Mapping[str, Function]
    routes: tuple[Route, ...]
    schedules: tuple[Schedule, ...]
