"""Record ports: where the requests for a validation are shown, beside the record of the subject.

A port is an HTTP service for the subjects of one context kind. The engine tells it when a request opens and
how it closed; a request that its port does not know yet may be closed first, since each call is retried alone.
"""

from collections.abc import Collection, Mapping
from typing import Any
from urllib.parse import quote

from meridian import jsontext
from meridian.engine.http import exchange
from meridian.engine.model import Json, RunInput

TRY_TIMEOUT_SECONDS = 10.0

_SUCCESS = range(200, 300)


class RecordPortUnavailable(Exception):
    """The record port has not taken the call; it is retried. The message holds the kind, never the subject."""


class RecordPorts:
    """The ports by context kind, from `RECORD_PORTS`: `kind` or `kind=url`, separated by commas."""

    def __init__(self, urls: Mapping[str, str | None]) -> None:
        self._urls = urls

    @property
    def kinds(self) -> list[str]:
        """The kinds that have a port, also those whose address is missing."""
        return sorted(self._urls)

    async def open(self, message: Json) -> None:
        """:raises RecordPortUnavailable: unless the port answers with success."""
        await self._post(message, "/validation-requests")

    async def close(self, message: Json) -> None:
        """:raises RecordPortUnavailable: unless the port answers with success."""
        request_id = quote(message["closure"]["requestId"], safe="")
        await self._post(message, f"/validation-requests/{request_id}/close")

    async def _post(self, message: Json, path: str) -> None:
        kind = message["kind"]
        url = self._urls.get(kind)
        if url is None:
            raise RecordPortUnavailable(f"RECORD_PORTS gives no address for the kind {kind}.")
        headers = {"content-type": "application/json"}
        content = jsontext.serialize(message).encode()
        answer = await exchange("POST", url + path, headers, content, TRY_TIMEOUT_SECONDS)
        if answer.status not in _SUCCESS:
            raise RecordPortUnavailable(f"The record port of the kind {kind} answered {answer.status}.")


def request_id(run: RunInput, pending: Mapping[str, Any]) -> str:
    """The id of a validation request, the same for each of the run's subjects."""
    return f"{run.run_id}:{pending['id']}"


def openings(run: RunInput, pending: Mapping[str, Any], kinds: Collection[str]) -> list[Json]:
    """What `openValidationRequest` is sent: one message per subject whose kind has a record port."""
    request = {
        "requestId": request_id(run, pending),
        "runId": run.run_id,
        "workflow": run.slug,
        **{name: pending[name] for name in ("node", "title", "message", "outcomes", "requestedAt")},
    }
    return [{**subject, "request": request} for subject in _subjects(run, kinds)]


def closures(
    run: RunInput, pending: Mapping[str, Any], decision: Mapping[str, Any], kinds: Collection[str]
) -> list[Json]:
    """What `closeValidationRequest` is sent once the request is decided."""
    closure = {
        "requestId": request_id(run, pending),
        **{name: decision[name] for name in ("outcome", "by", "comment", "data")},
        "closedAt": decision["at"],
    }
    return [{**subject, "closure": closure} for subject in _subjects(run, kinds)]


def _subjects(run: RunInput, kinds: Collection[str]) -> list[Json]:
    return [{"kind": kind, "id": run.subjects[kind]} for kind in sorted(run.subjects) if kind in kinds]
