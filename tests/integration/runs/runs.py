"""Runs for tests."""

from datetime import UTC, datetime, timedelta
from typing import Any

from meridian.clock import text
from meridian.runs.model import NewRun

START = datetime(2026, 11, 30, 8, tzinfo=UTC)
RESTATE_URL = "https://restate.example"


def at(minutes: float) -> str:
    """The time so many minutes after the tests' start of the day."""
    return text(START + timedelta(minutes=minutes))


def new_run(event_id: str = "obs-1", slug: str = "potassium-alert", minutes: float = 0, **changes: Any) -> NewRun:
    """A run of `slug` that the event started, `minutes` into the day."""
    run = NewRun(
        id=f"{event_id}:{slug}",
        workflow_name=slug.replace("-", " ").capitalize(),
        workflow_file=f"{slug}.json",
        workflow_slug=slug,
        spec_version=3,
        spec_hash="0f" * 32,
        spec_json=None,
        subjects={"patient": "p-42"},
        event={"eventId": event_id, "type": "observation.created", "data": {"code": "K"}},
        source_event_id=event_id,
        route_match="selector",
        event_type="observation.created",
        created_at=at(minutes),
        restate_url=RESTATE_URL,
        trigger_id=None,
    )
    return run._replace(**changes)
