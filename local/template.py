"""Reading a SAM template, or one that `sam build` made, with SAM CLI's own providers.

They resolve parameters, intrinsic functions, globals, layers and paths as `sam local` does. They are internals of
SAM CLI, so its version is pinned, and this module alone imports them.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

os.environ.setdefault("SAM_CLI_TELEMETRY", "0")  # read when samcli is imported

from click import ClickException
from samcli.commands.validate.lib.exceptions import InvalidSamDocumentException
from samcli.lib.providers.sam_function_provider import SamFunctionProvider
from samcli.lib.providers.sam_stack_provider import SamLocalStackProvider

from local.model import Application, Function, Route, Schedule

DEFAULT_TIMEOUT, DEFAULT_MEMORY = 3, 128
UNIT_SECONDS = {"minute": 60, "hour": 3_600, "day": 86_400}


class UnsupportedTemplate(Exception):
    """The template is none, or says something that the local stack cannot do; the message names it."""


def read_template(file: Path) -> Application:
    """The functions of a template with their routes and schedules. Raises `UnsupportedTemplate`."""
    try:
        stacks, _ = SamLocalStackProvider.get_stacks(str(file))
    except (ClickException, InvalidSamDocumentException) as error:
        raise UnsupportedTemplate(f"SAM cannot read {file}: {error}") from None
    resources: Mapping[str, Any] = stacks[0].resources
    functions: dict[str, Function] = {}
    routes: list[Route] = []
    schedules: list[Schedule] = []
    for declared in SamFunctionProvider(stacks).get_all():
        properties = resources[declared.name]["Properties"]
        variables = (declared.environment or {}).get("Variables", {})
        functions[declared.name] = Function(
            name=declared.name,
            handler=str(declared.handler),
            code=Path(str(declared.codeuri)).resolve(),
            layers=tuple(importable(Path(layer.codeuri).resolve()) for layer in declared.layers),
            # What SAM cannot resolve stays a dictionary; it stands for something that exists on AWS only.
            environment={name: value if isinstance(value, str) else "" for name, value in variables.items()},
            timeout=float(declared.timeout or DEFAULT_TIMEOUT),
            memory=int(declared.memory or DEFAULT_MEMORY),
            reserved_concurrency=properties.get("ReservedConcurrentExecutions"),
        )
        events = properties.get("Events") or {}
        routes += routes_of(declared.name, events)
        schedules += schedules_of(declared.name, events)
    return Application(functions, tuple(routes), tuple(schedules))


def importable(layer: Path) -> Path:
    """The folder of a layer that Lambda puts on the import path: `python/` once built, before that the source."""
    built = layer / "python"
    return built if built.is_dir() else layer


def routes_of(function: str, events: Mapping[str, Any]) -> Iterator[Route]:
    """The routes among a function's events. An event without a path or method is SAM's catch-all."""
    for event in events.values():
        if event["Type"] == "HttpApi":
            properties = event.get("Properties") or {}
            yield Route(
                api=str(properties.get("ApiId", "ServerlessHttpApi")),
                method=str(properties.get("Method", "ANY")).upper().replace("X-AMAZON-APIGATEWAY-ANY-METHOD", "ANY"),
                path=str(properties.get("Path", "$default")),
                function=function,
            )


def schedules_of(function: str, events: Mapping[str, Any]) -> Iterator[Schedule]:
    """The schedules among a function's events that are switched on."""
    for event in events.values():
        if event["Type"] in ("Schedule", "ScheduleV2"):
            properties = event["Properties"]
            if properties.get("Enabled", True) in (False, "false") or properties.get("State") == "DISABLED":
                continue
            expression = properties.get("Schedule") or properties.get("ScheduleExpression")
            yield Schedule(function, seconds_of_rate(str(expression)), properties.get("Input"))


def seconds_of_rate(expression: str) -> float:
    """The seconds of `rate(5 minutes)`. Raises `UnsupportedTemplate` for another expression."""
    match = re.fullmatch(r"rate\(\s*(\d+)\s+(minute|hour|day)s?\s*\)", expression)
    if match is None:
        raise UnsupportedTemplate(f"The schedule {expression} is not a rate, and only rates tick on one machine.")
    return float(int(match[1]) * UNIT_SECONDS[match[2]])
