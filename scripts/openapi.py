"""Writes the OpenAPI documents of the two APIs, from the functions' routes and what stands beside them.

    PYTHONPATH=layers/meridian python -m scripts.openapi           with --check: fails when one would change

A route of a function that says nothing of itself is an error, so that no route is forgotten. Powertools makes the
document, as it would at run time from a resolver that validates; here it is made once, and what it leaves out of
query parameters is put back from their models.
"""

from __future__ import annotations

import inspect
import json
import os
import re
import runpy
import sys
from collections.abc import Iterator
from pathlib import Path as File
from typing import Annotated, Any

from aws_lambda_powertools.event_handler import APIGatewayHttpResolver
from aws_lambda_powertools.event_handler.openapi.params import Body, Path
from pydantic import BaseModel, TypeAdapter

from meridian import definitions, errors
from meridian.api.documentation import ATTRIBUTE, Documentation
from meridian.memory.model import Scope
from meridian.memory.requests import AddressFields, ForgetBody, WriteBody
from meridian.memory.rules import PARTS
from scripts import openapi_answers as answers

ROOT = File(__file__).resolve().parent.parent
FUNCTIONS = ("ingestion", "runs", "workflows", "memory")
SETTINGS = {"RUN_DB_URL": "postgresql://localhost/meridian", "RESTATE_URL": "http://localhost:8080"}
INTERNAL = "/api/internal/"

PUBLIC_FILES = (ROOT / "docs/openapi.json", ROOT / "layers/meridian/meridian/api/openapi.json")
INTERNAL_FILES = (ROOT / "docs/openapi-internal.json",)

JSON, PROBLEM = "application/json", "application/problem+json"
CLOUD_EVENT = "application/cloudevents+json"
DEFINITION = "Definition"
# What every function answers to what it cannot read, and when a service behind it fails.
OF_EVERY_BODY, OF_EVERY_FIELD, OF_EVERY_ROUTE = (400, 413), (422,), (500, 503)
# What API Gateway answers in a function's place.
OF_THE_GATEWAY = {
    401: "No valid token",
    404: "Not found",
    413: "Payload too large",
    429: "Too many requests",
    500: "Internal error",
    503: "Service unavailable",
}
ADDRESSES = (AddressFields, WriteBody, ForgetBody)
WITHOUT_SERVICES = ("/healthz", "/api/openapi.json")

Json = dict[str, Any]


class Undocumented(Exception):
    """A route says nothing of itself."""


def main(arguments: list[str]) -> int:
    public, internal = documents()
    stale = []
    for document, files in ((public, PUBLIC_FILES), (internal, INTERNAL_FILES)):
        text = json.dumps(document, indent=2, ensure_ascii=False) + "\n"
        for file in files:
            if file.exists() and file.read_text() == text:
                continue
            stale.append(str(file.relative_to(ROOT)))
            if "--check" not in arguments:
                file.write_text(text)
    if stale:
        print(f"{'Out of date' if '--check' in arguments else 'Written'}: {', '.join(stale)}", file=sys.stderr)
    return 1 if stale and "--check" in arguments else 0


def documents() -> tuple[Json, Json]:
    """The documents of the public and of the internal API."""
    public = Description("Meridian", "Token", TOKEN)
    internal = Description("Meridian, workflow memory for the engine", "Iam", IAM)
    for name in FUNCTIONS:
        for path, method, route in routes(name):
            (internal if path.startswith(INTERNAL) else public).add(name, path, method, route)
    return public.document(), internal.document()


def routes(function: str) -> Iterator[tuple[str, str, Any]]:
    """The path, the method and the handler of each route of a function. Raises `Undocumented`."""
    app = _load(function)
    for route in [*app._static_routes, *app._dynamic_routes]:
        if not hasattr(route.func, ATTRIBUTE):
            raise Undocumented(f"{route.method} {route.path} of {function} is not documented.")
        yield route.path, route.method[0] if isinstance(route.method, tuple) else route.method, route.func


def _load(function: str) -> Any:
    os.environ.update(SETTINGS)
    return runpy.run_path(str(ROOT / "functions" / function / "app.py"))["app"]


class Description:
    """One API: its routes, and the document that tells them. `security` is the scheme of its routes."""

    def __init__(self, title: str, scheme: str, security: Json) -> None:
        self._resolver = APIGatewayHttpResolver(enable_validation=True)
        self._resolver.configure_openapi(title=title, version="1", openapi_version="3.1.0")
        self._scheme = scheme
        self._security = security
        self._told: dict[str, Documentation] = {}  # by operation id

    def add(self, tag: str, path: str, method: str, route: Any) -> None:
        """Adds the route as Powertools documents one: a function whose signature tells what it takes."""
        told: Documentation = getattr(route, ATTRIBUTE)
        self._told[route.__name__] = told
        parameters: dict[str, Any] = {name: Annotated[str, Path()] for name in re.findall(r"<(\w+)>", path)}
        if told.body is not None:
            body = told.body if isinstance(told.body, type) else dict[str, Any]
            parameters["body"] = Annotated[body, Body()]

        def operation(**_: Any) -> None:
            """Never called."""

        kinds = inspect.Parameter.KEYWORD_ONLY
        operation.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
            [inspect.Parameter(name, kinds, annotation=kind) for name, kind in parameters.items()]
        )
        operation.__annotations__ = parameters
        add_route = self._resolver.route(
            path,
            method,
            summary=told.summary,
            description=inspect.getdoc(route) or told.summary,
            operation_id=route.__name__,
            tags=[tag],
            responses=_responses(told, path),
        )
        add_route(operation)

    def document(self) -> Json:
        """The document, in OpenAPI 3.1."""
        document: Json = json.loads(self._resolver.get_openapi_json_schema())
        schemas = document["components"]["schemas"]
        for path, operations in document["paths"].items():
            for operation in operations.values():
                self._finish(path, operation)
        for name in ("HTTPValidationError", "ValidationError", "ResponseValidationError"):
            schemas.pop(name, None)
        if any(told.body == DEFINITION for told in self._told.values()):
            schemas[DEFINITION] = _definition()
        for name in schemas.keys() & {model.__name__ for model in ADDRESSES}:
            schemas[name]["anyOf"] = [_address_of(scope) for scope in PARTS]
        document["components"] = {
            "schemas": dict(sorted(schemas.items())),
            "securitySchemes": {self._scheme: self._security},
        }
        document["paths"] = dict(sorted(document["paths"].items()))
        return document

    def _finish(self, path: str, operation: Json) -> None:
        """What Powertools does not tell: the query as its model has it, headers, security."""
        told = self._told[operation["operationId"]]
        parameters = [*operation.get("parameters", []), *_query_parameters(told.query)]
        if parameters:
            operation["parameters"] = parameters
        if told.body is not None:
            content = operation["requestBody"]["content"]
            if told.body == DEFINITION:
                content[JSON]["schema"] = {"$ref": f"#/components/schemas/{DEFINITION}"}
            if 415 in told.problems:
                content[CLOUD_EVENT] = {"schema": CLOUD_EVENT_SCHEMA}
        responses = operation["responses"]
        if not (told.query or told.body):
            del responses["422"]  # which Powertools tells of every route
        for status, response in responses.items():
            if int(status) in HEADERS:
                response["headers"] = HEADERS[int(status)]
        if path in OPEN_ROUTES:
            responses.pop("401")
        else:
            operation["security"] = [{self._scheme: []}]
        operation["responses"] = dict(sorted(responses.items()))


def _responses(told: Documentation, path: str) -> dict[int, Any]:
    problems = set(told.problems) | (set() if path in WITHOUT_SERVICES else set(OF_EVERY_ROUTE))
    if told.body is not None:
        problems |= {*OF_EVERY_BODY, *OF_EVERY_FIELD}
    if told.query:
        problems |= {*OF_EVERY_FIELD}
    responses: dict[int, Json] = {
        status: {"description": _sentence(model), "content": {JSON: {"model": _model(model)}}}
        for status, model in told.answers.items()
    }
    for status in sorted(problems - told.answers.keys()):
        responses[status] = {"description": _title(status), "content": {PROBLEM: {"model": answers.Problem}}}
    for status, description in OF_THE_GATEWAY.items():
        content = responses.setdefault(status, {"description": description, "content": {}})["content"]
        content.setdefault(JSON, {"model": answers.GatewayMessage})
    return responses


def _model(name: str) -> Any:
    return getattr(answers, name)


def _sentence(name: str) -> str:
    return (inspect.getdoc(_model(name)) or name).split("\n")[0] if isinstance(_model(name), type) else name


def _title(status: int) -> str:
    kinds = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, errors.ProblemError)]
    return next(kind.title for kind in kinds if kind.status == status)


TOKEN: Json = {
    "type": "http",
    "scheme": "bearer",
    "bearerFormat": "JWT",
    "description": "Asked for where the deployment has an issuer.",
}
IAM: Json = {
    "type": "apiKey",
    "in": "header",
    "name": "Authorization",
    "description": "Signature Version 4 of the engine's role.",
}
OPEN_ROUTES = ("/healthz", "/readyz")
CLOUD_EVENT_SCHEMA: Json = {
    "type": "object",
    "description": "A CloudEvent 1.0. In binary mode its attributes are `ce-` headers and the body is its data.",
    "properties": {
        "specversion": {"const": "1.0"},
        "id": {"type": "string", "minLength": 1},
        "source": {"type": "string", "minLength": 1},
        "type": {"type": "string", "minLength": 1},
    },
    "required": ["specversion", "id", "source", "type"],
}
HEADERS: dict[int, Json] = {
    201: {"Location": {"description": "The path of the version.", "schema": {"type": "string"}}},
    503: {
        "Retry-After": {
            "description": "Seconds after which to try again, where a function answers.",
            "schema": {"type": "string"},
        }
    },
}


def _query_parameters(models: tuple[type[BaseModel], ...]) -> list[Json]:
    """The parameters of a query with everything that its model says; of several models what either takes."""
    properties: dict[str, Json] = {}
    required: list[set[str]] = []
    for model in models:
        schema = TypeAdapter(model).json_schema()
        properties = {**schema["properties"], **properties}
        required.append(set(schema.get("required", ())))
    always = set.intersection(*required) if required else set()
    return [
        {
            "name": name,
            "in": "query",
            "required": name in always,
            **({"description": schema["description"]} if "description" in schema else {}),
            "schema": _without_null(
                {key: value for key, value in schema.items() if key not in ("title", "description")}
            ),
        }
        for name, schema in properties.items()
    ]


def _without_null(schema: Json) -> Json:
    """A query parameter is given or not, and never null."""
    choices = [choice for choice in schema.get("anyOf", ()) if choice != {"type": "null"}]
    rest = {key: value for key, value in schema.items() if key != "anyOf" and not (key == "default" and value is None)}
    return rest | choices[0] if len(choices) == 1 else rest | ({"anyOf": choices} if choices else {})


def _address_of(scope: Scope) -> Json:
    """What an address of the scope must have, and must leave out."""
    has = {part: {"minLength": 1} for part in sorted(PARTS[scope])}
    has_not = {part: {"maxLength": 0} for part in sorted(frozenset().union(*PARTS.values()) - PARTS[scope])}
    return {"properties": {"scope": {"const": scope}, **has, **has_not}, "required": sorted(PARTS[scope])}


def _definition() -> Json:
    """The JSON Schema of a definition as a component."""
    text = (File(definitions.__file__).parent / "definition.schema.json").read_text()
    schema: Json = json.loads(text.replace('"#/$defs/', '"#/components/schemas/Definition/$defs/'))
    schema.pop("$schema")
    return schema


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
