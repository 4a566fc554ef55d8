"""The bodies of the signal routes."""

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from meridian.errors import FieldError, InvalidInput
from meridian.signals.feed import MAX_DECISIONS, FeedDecision
from meridian.signals.model import Decision, Resumption

RequestId = Annotated[str, StringConstraints(min_length=1, max_length=100)]
RunId = Annotated[str, StringConstraints(min_length=1, max_length=400)]


class _Body(BaseModel):
    model_config = ConfigDict(defer_build=True, extra="forbid", populate_by_name=True)


class _Decided(_Body):
    outcome: Annotated[str, StringConstraints(min_length=1, max_length=200)] = Field(
        description="One of the outcomes that the request offers."
    )
    by: Annotated[str, StringConstraints(max_length=200)] | None = Field(None, description="Who decides.")
    comment: Annotated[str, StringConstraints(max_length=10_000)] | None = None
    data: Any = None

    def as_decision(self, request_id: str) -> Decision:
        return Decision(request_id, self.outcome, self.by, self.comment, self.data)


class DecisionBody(_Decided):
    """The decision of the validation that the path names; the body may name it as well."""

    pending_id: RequestId | None = Field(None, alias="pendingId")

    def decision(self, request_id: str) -> Decision:
        """Raises `InvalidInput` when the body names another request than the path."""
        if self.pending_id not in (None, request_id):
            what = "is not the request that the path names"
            raise InvalidInput(f"/pendingId: {what}.", errors=[FieldError("body", "/pendingId", what)])
        return self.as_decision(request_id)


class ResumptionBody(_Body):
    """What a wait node is resumed with."""

    data: Any = None

    def resumption(self, wait_id: str) -> Resumption:
        return Resumption(wait_id, self.data)


class FeedItem(_Decided):
    """A decision with the run and the request that it is for."""

    run_id: RunId = Field(alias="runId")
    pending_id: RequestId = Field(alias="pendingId")


class FeedBody(_Body):
    """A decision feed."""

    decisions: Annotated[list[FeedItem], Field(min_length=1, max_length=MAX_DECISIONS)]

    def as_feed(self) -> list[FeedDecision]:
        return [FeedDecision(item.run_id, item.as_decision(item.pending_id)) for item in self.decisions]
