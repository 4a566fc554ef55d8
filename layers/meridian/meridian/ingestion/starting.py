"""Starting the run of a delivery on Restate."""

from collections.abc import Mapping
from typing import Any, Protocol

from meridian import jsontext
from meridian.definitions.store import DefinitionStore
from meridian.errors import RestateUnavailable
from meridian.ingestion.event import Event
from meridian.ingestion.plan import Delivery
from meridian.runs.model import NewRun

START_TIMEOUT_SECONDS = 2.0


class RunStarter(Protocol):
    """What ingestion asks of Restate."""

    url: str

    def send_run(self, run_id: str, run_input: Mapping[str, Any], timeout: float | None = None) -> bool: ...

    def get_start(self, run_id: str, timeout: float | None = None) -> Any | None: ...


class Starter:
    """Starts runs, and says with which row each belongs into the index."""

    def __init__(self, restate: RunStarter, definitions: DefinitionStore) -> None:
        self._restate = restate
        self._definitions = definitions

    def start(self, event: Event, delivery: Delivery, received_at: str, seconds: float) -> NewRun:
        """Starts the run of a delivery within `seconds`, unless it was started before.

        Raises `RestateUnavailable`; the same delivery may then be tried again, since Restate runs a key once.
        """
        run = _new_run(event, delivery, received_at, self._restate.url)
        if seconds <= 0:
            raise RestateUnavailable("Restate did not answer in time.")
        is_new = self._restate.send_run(run.id, _run_input(event, delivery, run), timeout=seconds)
        return run if is_new else self._as_it_was_started(run)

    def _as_it_was_started(self, run: NewRun) -> NewRun:
        """The row of a run that Restate had accepted before, from what it was then started with.

        Between a crash and the redelivery another version may have been published, and the event may come again
        with other content, but the run executes the first. A run whose first attempt has not begun cannot tell yet;
        then this delivery's is the best guess.
        """
        try:
            start = self._restate.get_start(run.id, timeout=START_TIMEOUT_SECONDS)
        except RestateUnavailable:
            start = None
        if not isinstance(start, Mapping):
            return run
        workflow, event = start["workflow"], start["event"]
        run = run._replace(
            created_at=start["receivedAt"],
            event=event,
            event_type=event["type"],
            subjects=event["subjects"],
            route_match=start["routeMatch"],
            trigger_id=start["triggerId"],
        )
        if workflow["hash"] == run.spec_hash:
            return run
        return run._replace(
            workflow_name=workflow["name"],
            spec_version=workflow["version"],
            spec_hash=workflow["hash"],
            spec_json=self._kept_spec(run.workflow_slug, workflow["version"], start["spec"]),
        )

    def _kept_spec(self, slug: str, version: int | None, draft: Any) -> str | None:
        if version is None:
            return jsontext.serialize(draft)
        published = self._definitions.version(slug, version)
        return jsontext.serialize(published.document) if published is not None else None


def _new_run(event: Event, delivery: Delivery, received_at: str, restate_url: str) -> NewRun:
    return NewRun(
        id=delivery.run_id,
        workflow_name=delivery.definition.name,
        workflow_file=f"{delivery.slug}.json",
        workflow_slug=delivery.slug,
        spec_version=delivery.version,
        spec_hash=delivery.spec_hash,
        spec_json=jsontext.serialize(delivery.definition.document) if delivery.keeps_spec else None,
        subjects=event.subjects,
        event=event.as_json(),
        source_event_id=event.id,
        route_match=delivery.route_match,
        event_type=event.type,
        created_at=received_at,
        restate_url=restate_url,
        trigger_id=delivery.trigger_id,
    )


def _run_input(event: Event, delivery: Delivery, run: NewRun) -> dict[str, Any]:
    """What the engine is given: all that it needs, so that it reads no database."""
    return {
        "runId": run.id,
        "workflow": {
            "slug": run.workflow_slug,
            "name": run.workflow_name,
            "file": run.workflow_file,
            "version": run.spec_version,
            "hash": run.spec_hash,
        },
        "spec": delivery.definition.document,
        "triggerId": run.trigger_id,
        "entry": delivery.entry.id if delivery.entry is not None else None,
        "start": delivery.start,
        "routeMatch": run.route_match,
        "event": event.as_json(),
        "subjects": dict(event.subjects),
        "receivedAt": run.created_at,
    }
