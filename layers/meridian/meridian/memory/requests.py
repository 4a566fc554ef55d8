"""What callers of workflow memory send: the fields of bodies and queries, checked before anything is opened.

Bodies are strict: a number in quotes is no number, an unknown field is refused. Text that PostgreSQL cannot keep
is refused before these models see it (`meridian.text`).
"""

# ruff: noqa: N815 - fields are named as callers write them, and so are the errors

from datetime import timedelta
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationInfo, field_validator

from meridian.memory.model import DEFAULT_RETENTION, MAX_RETENTION, Address, Chosen, Scope, Write, WrittenBy
from meridian.memory.rules import (
    MAX_KEY_CHARACTERS,
    MAX_KIND_CHARACTERS,
    MAX_SUBJECT_CHARACTERS,
    MAX_WORKFLOW_CHARACTERS,
    check_part,
    type_text,
    value_text,
)

DEFAULT_PAGE, MAX_PAGE = 50, 200
_BIGINT = 2**63 - 1

SubjectKind = Annotated[str, Field(max_length=MAX_KIND_CHARACTERS)]
SubjectId = Annotated[str, Field(max_length=MAX_SUBJECT_CHARACTERS)]
Workflow = Annotated[str, Field(max_length=MAX_WORKFLOW_CHARACTERS)]
Name = Annotated[str, Field(min_length=1, max_length=500)]
Version = Annotated[int, Field(ge=0, le=_BIGINT)]


class _Fields(BaseModel):
    model_config = ConfigDict(defer_build=True, extra="forbid", strict=True, frozen=True)


class AddressFields(_Fields):
    """One address: the body of `POST /api/internal/memory/read`. What its scope has not is left out, or empty."""

    scope: Scope
    subjectKind: SubjectKind = Field("", validate_default=True)
    subjectId: SubjectId = Field("", validate_default=True)
    workflow: Workflow = Field("", validate_default=True)
    key: Annotated[str, Field(min_length=1, max_length=MAX_KEY_CHARACTERS)]

    @field_validator("subjectKind", "subjectId", "workflow")
    @classmethod
    def _belongs_to_scope(cls, value: str, info: ValidationInfo) -> str:
        if "scope" in info.data and info.field_name is not None:
            check_part(info.data["scope"], info.field_name, value)
        return value

    @property
    def address(self) -> Address:
        return Address(self.subjectKind, self.subjectId, self.scope, self.workflow, self.key)


class WriterFields(_Fields):
    """Who writes: part of a write."""

    workflow: Name
    run: Name
    node: Name


class WriteBody(AddressFields):
    """`POST /api/internal/memory/write`."""

    type: Annotated[Any, AfterValidator(type_text)]  # JSON text once it is checked, as is `value`
    typeName: Name
    value: Annotated[Any, AfterValidator(value_text)]
    writtenBy: WriterFields
    expectedVersion: Version | None = None
    retentionSeconds: Annotated[int, Field(ge=1, le=int(MAX_RETENTION.total_seconds()))] | None = None

    @property
    def write(self) -> Write:
        seconds = self.retentionSeconds
        return Write(
            address=self.address,
            type=self.type,
            type_name=self.typeName,
            value=self.value,
            written_by=WrittenBy(self.writtenBy.workflow, self.writtenBy.run, self.writtenBy.node),
            expected_version=self.expectedVersion,
            retention=DEFAULT_RETENTION if seconds is None else timedelta(seconds=seconds),
        )


class ForgetBody(AddressFields):
    """`POST /api/internal/memory/forget`."""

    expectedVersion: Version | None = None


class SubjectQuery(_Fields):
    """`DELETE /api/memory` of all items of a subject."""

    subjectKind: Annotated[SubjectKind, Field(min_length=1)]
    subjectId: Annotated[SubjectId, Field(min_length=1)]


class ListQuery(_Fields):
    """`GET /api/memory`: the items of a subject, or with scope `workflow-global` those of no subject."""

    scope: Scope | None = None
    subjectKind: SubjectKind = Field("", validate_default=True)
    subjectId: SubjectId = Field("", validate_default=True)
    workflow: Workflow = ""
    limit: Annotated[int, Field(ge=1, le=MAX_PAGE, strict=False)] = DEFAULT_PAGE
    cursor: str | None = None

    @field_validator("subjectKind", "subjectId", "workflow")
    @classmethod
    def _belongs_to_scope(cls, value: str, info: ValidationInfo) -> str:
        is_filter = info.field_name == "workflow" and not value
        if "scope" in info.data and info.field_name is not None and not is_filter:
            check_part(info.data["scope"] or "workflow", info.field_name, value)
        return value

    @property
    def chosen(self) -> Chosen:
        return Chosen(self.subjectKind, self.subjectId, self.scope, self.workflow or None)
