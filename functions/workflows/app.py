"""Workflows: definitions, their versions, and which of them receives events."""

import re
from typing import Annotated, Any

from aws_lambda_powertools.event_handler import Response
from pydantic import BaseModel, ConfigDict, Field

from meridian.api import (
    http_handler,
    json_response,
    make_resolver,
    read_body,
    read_json,
    read_query,
    request_path_parameter,
)
from meridian.api.documentation import documented
from meridian.config import Settings
from meridian.definitions.store import PublishedVersion, VersionSummary, Workflow
from meridian.errors import FieldError, InvalidInput, NotFound
from meridian.ingestion.event import SLUG_PATTERN
from meridian.text import unstorable
from meridian.wiring import Wiring

MAX_SLUG = 100
MAX_VERSION = 2**31 - 1

app = make_resolver()
wiring = Wiring(Settings(), needs_restate=False)


class PublishQuery(BaseModel):
    """How a version is published."""

    model_config = ConfigDict(defer_build=True, extra="forbid")

    activate: bool = Field(True, description="Whether the version receives events at once.")


class ActiveVersion(BaseModel):
    """The version that receives events, or none."""

    model_config = ConfigDict(defer_build=True, extra="forbid", strict=True)

    version: Annotated[int, Field(ge=1, le=MAX_VERSION)] | None


@app.get("/api/workflows")
@documented("Lists the workflows with their newest and active version", {200: "Workflows"})
def list_workflows() -> Response[str]:
    return json_response({"workflows": [_workflow(workflow) for workflow in wiring.definitions.workflows()]})


@app.get("/api/workflows/<slug>")
@documented("Reads a workflow with its versions and its active definition", {200: "WorkflowDetail"}, problems=(404,))
def get_workflow(slug: str) -> Response[str]:
    workflow = wiring.definitions.workflow(slug)
    if workflow is None:
        raise NotFound("There is no such workflow.")
    versions = [_version_summary(version) for version in workflow.versions]
    active = wiring.definitions.active(slug)
    document = active.document if active is not None else None
    return json_response(_workflow(workflow) | {"versions": versions, "spec": document})


@app.get("/api/workflows/<slug>/versions/<version>")
@documented("Reads a version with its definition", {200: "PublishedVersion"}, problems=(404,))
def get_version(slug: str, version: str) -> Response[str]:
    published = wiring.definitions.version(slug, _version_number(version))
    if published is None:
        raise NotFound("There is no such version of the workflow.")
    return json_response(_published(published))


@app.post("/api/workflows/<slug>/versions")
@documented(
    "Publishes the next version of a workflow",
    {201: "NewVersion"},
    query=(PublishQuery,),
    body="Definition",
    problems=(409,),
)
def publish(slug: str) -> Response[str]:
    slug = _valid_slug(request_path_parameter(app, "slug"))
    query = read_query(PublishQuery, app.current_event)
    document = read_json(app.current_event)
    pointer = unstorable(document)
    faults = [FieldError("body", fault.pointer, fault.detail) for fault in wiring.check_definition(document)]
    if pointer is not None:
        faults.append(FieldError("body", pointer, "has text that cannot be stored: NUL or a lone surrogate"))
    if faults:
        raise InvalidInput("The document is not a valid definition.", errors=faults)
    published = wiring.definitions.publish(slug, document, activate=query.activate)
    location = f"/api/workflows/{slug}/versions/{published.version}"
    return json_response(_published(published) | {"active": query.activate}, 201, {"Location": location})


@app.put("/api/workflows/<slug>/active")
@documented(
    "Chooses the version that receives events, or none",
    {200: "ActivatedVersion"},
    body=ActiveVersion,
    problems=(404, 409),
)
def set_active(slug: str) -> Response[str]:
    body = read_body(ActiveVersion, app.current_event)
    if not wiring.definitions.set_active(slug, body.version):
        if wiring.definitions.workflow(slug) is None:
            raise NotFound("There is no such workflow.")
        fault = FieldError("body", "/version", "names no published version of the workflow")
        raise NotFound("There is no such version of the workflow.", errors=[fault])
    return json_response({"slug": slug, "activeVersion": body.version})


def _valid_slug(slug: str) -> str:
    if len(slug) > MAX_SLUG or not re.fullmatch(SLUG_PATTERN, slug):
        detail = "must be lower-case letters and digits in words joined by -, at most 100 characters"
        raise InvalidInput(f"slug: {detail}.", errors=[FieldError("path", "/slug", detail)])
    return slug


def _version_number(version: str) -> int:
    number = int(version) if version.isascii() and version.isdigit() and len(version) < 11 else 0  # noqa: PLR2004
    if not 1 <= number <= MAX_VERSION:
        fault = FieldError("path", "/version", "must be a version number")
        raise NotFound("There is no such version of the workflow.", errors=[fault])
    return number


def _workflow(workflow: Workflow) -> dict[str, Any]:
    newest = workflow.versions[0]
    return {
        "slug": workflow.slug,
        "name": newest.name,
        "activeVersion": workflow.active_version,
        "latestVersion": newest.version,
        "publishedAt": newest.published_at,
    }


def _version_summary(version: VersionSummary) -> dict[str, Any]:
    return {
        "version": version.version,
        "name": version.name,
        "specHash": version.spec_hash,
        "publishedAt": version.published_at,
    }


def _published(published: PublishedVersion) -> dict[str, Any]:
    return {
        "slug": published.slug,
        "version": published.version,
        "name": published.definition.name,
        "specHash": published.spec_hash,
        "publishedAt": published.published_at,
        "spec": published.document,
    }


handler = http_handler(app)
