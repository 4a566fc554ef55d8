"""What the routes answer, for the OpenAPI documents alone: no function imports this."""

# ruff: noqa: N815 - fields are named as they are answered

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

Time = Annotated[
    str,
    Field(
        pattern=r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$",
        description="UTC with milliseconds.",
        examples=["2026-11-30T20:09:00.123Z"],
    ),
]
Cursor = Annotated[str | None, Field(description="`cursor` of the next page; null on the last one.")]
RunStatus = Literal["running", "suspended", "waiting", "completed", "failed", "unknown"]
NodeStatus = Literal["completed", "failed", "running", "suspended", "waiting", "skipped", "idle"]


class Answer(BaseModel):
    """Nothing is answered that is not described."""

    model_config = ConfigDict(extra="forbid")


class FieldFault(Answer):
    """One field that is wrong."""

    in_: Literal["body", "query", "path", "header"] = Field(alias="in")
    pointer: str = Field(description="A JSON pointer into that place; empty for the whole of it.")
    detail: str


class Problem(BaseModel):
    """A problem document (RFC 9457)."""

    model_config = ConfigDict(extra="allow")

    type: str
    title: str
    status: int
    detail: str = Field(description="For people, in the language of the specification.")
    errors: list[FieldFault] = Field(default_factory=list, description="The fields that are wrong.")


class GatewayMessage(BaseModel):
    """What API Gateway answers itself, before any function."""

    message: str | None


# events


class Delivery(Answer):
    """What became of an event at one workflow."""

    runId: str
    workflow: str
    workflowName: str
    created: bool = Field(description="Whether this request started the run.")
    routeMatch: Literal["selector", "unfiltered", "targeted", "pinned"] | None
    triggerId: str | None
    reason: Literal["started", "duplicate", "anteriority"]


class IngestedEvent(Answer):
    """What became of an event."""

    eventId: str
    runs: list[Delivery]


class Reception(Answer):
    """One reception of an event."""

    id: str
    receivedAt: Time
    eventId: str | None
    type: str | None
    source: str | None
    outcome: Literal["started", "duplicate", "anteriority", "unrouted", "rejected", "unavailable"]
    runs: list[Delivery]
    problem: Problem | None


class ReceptionPage(Answer):
    """The receptions of the last seven days, newest first."""

    events: list[Reception]
    nextCursor: Cursor


class DayVolume(Answer):
    """The events of one UTC day."""

    day: str
    events: int


class TypeVolume(Answer):
    """The distinct events of one type."""

    eventType: str
    days: list[DayVolume]
    total: int


class EventVolume(Answer):
    """Seven UTC days, today the last, and the events of each type on them."""

    days: list[str]
    types: list[TypeVolume]


# runs


class Run(Answer):
    """A run as the index has it."""

    id: str
    service: str
    workflowFile: str | None
    workflowName: str
    workflowSlug: str | None
    specVersion: int | None
    specHash: str | None
    subjects: dict[str, str]
    sourceEventId: str | None
    routeMatch: str | None
    eventType: str | None
    triggerId: str | None
    createdAt: str
    updatedAt: str | None
    finalStatus: Literal["completed", "failed"] | None
    journalFormat: int | None
    restateUrl: str | None
    status: RunStatus = Field(description="`unknown` while Restate does not tell it of a live run.")


class RunPage(Answer):
    """Runs, newest first."""

    runs: list[Run]
    nextCursor: Cursor


class TraceEntry(BaseModel):
    """One visit of a node."""

    node: str
    status: str
    startedAt: str | None = None
    endedAt: str | None = None
    input: Any = None
    output: Any = None
    error: Any = None


class Snapshot(BaseModel):
    """What the run looks like."""

    status: Literal["running", "suspended", "waiting", "completed", "failed"]
    trace: list[TraceEntry]
    pending: dict[str, Any] | None = Field(description="The request that a decision answers.")
    waiting: dict[str, Any] | None = Field(description="The wait that a resumption ends.")
    error: Any


class RunDetail(Run):
    """A run with everything that is known of it."""

    event: dict[str, Any]
    snapshot: Snapshot
    nodeStatus: dict[str, NodeStatus]
    spec: dict[str, Any] | None
    source: Literal["live", "archive"]


class Applied(Answer):
    """A snapshot shows that the signal was applied."""

    applied: Literal[True]


class NotKnownYet(Answer):
    """The signal was sent, and no snapshot shows yet what came of it."""

    applied: None


class DecisionAnswer(Answer):
    """What became of one decision of a feed."""

    runId: str
    pendingId: str
    result: Literal["applied", "duplicate", "rejected", "accepted"]
    reason: str | None


class FeedAnswers(Answer):
    """An answer for each decision, in their order."""

    results: list[DecisionAnswer]


# workflows


class WorkflowSummary(Answer):
    """A workflow and its newest version."""

    slug: str
    name: str
    activeVersion: int | None
    latestVersion: int
    publishedAt: Time


class Workflows(Answer):
    """All workflows."""

    workflows: list[WorkflowSummary]


class VersionSummary(Answer):
    """A version without its definition."""

    version: int
    name: str
    specHash: str
    publishedAt: Time


class WorkflowDetail(WorkflowSummary):
    """A workflow with its versions and the definition that receives events."""

    versions: list[VersionSummary]
    spec: dict[str, Any] | None


class PublishedVersion(VersionSummary):
    """A version with its definition."""

    slug: str
    spec: dict[str, Any]


class NewVersion(PublishedVersion):
    """The version that was published, and whether it receives events."""

    active: bool


class ActivatedVersion(Answer):
    """The version that receives events now, if any."""

    slug: str
    activeVersion: int | None


# memory


class Writer(BaseModel):
    """Who wrote a value."""

    workflow: str
    run: str
    node: str


class NoItem(Answer):
    """Nothing is remembered there."""

    version: Literal[0]


class Item(Answer):
    """A value that is remembered."""

    version: int
    value: Any
    type: Any
    typeName: str
    writtenAt: Time
    expiresAt: Time | None
    writtenBy: Writer


class Written(Answer):
    """A value was written."""

    version: int
    expiresAt: Time | None


class ForgottenItem(Answer):
    """Whether there was something to forget."""

    forgotten: bool


class ForgottenItems(Answer):
    """How many items were forgotten."""

    forgotten: int


class ListedItem(Item):
    """A value with its address."""

    scope: Literal["workflow", "subject", "workflow-global"]
    subjectKind: str | None = None
    subjectId: str | None = None
    workflow: str | None = None
    key: str


class ItemPage(Answer):
    """Values that are remembered."""

    items: list[ListedItem]
    nextCursor: Cursor


# health


class Alive(Answer):
    """The function runs."""

    status: Literal["ok"]


class Readiness(Answer):
    """Whether the run store and Restate's ingress answer."""

    status: Literal["ready", "unavailable"]
    checks: dict[Literal["runStore", "restate"], bool]


class OpenApiDocument(BaseModel):
    """This document."""

    openapi: str


ReadItem = Item | NoItem
