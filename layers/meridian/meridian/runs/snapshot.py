"""What a run looks like at one moment, and what follows from it. Rules without I/O."""

from collections.abc import Mapping
from typing import Any

from meridian.runs.model import FinalRunStatus

Snapshot = Mapping[str, Any]

EMPTY: dict[str, Any] = {"status": "running", "trace": [], "pending": None, "waiting": None, "error": None}


def final_status_of(snapshot: Snapshot | None) -> FinalRunStatus | None:
    """`completed` or `failed` when the snapshot is terminal, else None."""
    status = snapshot.get("status") if snapshot is not None else None
    if status == "completed":
        return "completed"
    return "failed" if status == "failed" else None


def holds_state(snapshot: Snapshot | None) -> bool:
    """Whether the run wrote anything. A run that Restate never saw, or forgot, has the empty placeholder."""
    if snapshot is None:
        return False
    written = snapshot.get("trace") or snapshot.get("pending") or snapshot.get("waiting")
    return bool(written) or final_status_of(snapshot) is not None


def ended_at(snapshot: Snapshot) -> str | None:
    """When the last node ended."""
    for entry in reversed(snapshot.get("trace") or []):
        if isinstance(entry, Mapping) and isinstance(entry.get("endedAt"), str):
            return str(entry["endedAt"])
    return None


def served_snapshot(snapshot: Snapshot | None, final_status: FinalRunStatus | None) -> dict[str, Any]:
    """The snapshot as it is served: a run with a terminal status has no `pending` and no `waiting`."""
    served = {**EMPTY, **(snapshot or {})}
    if final_status is None:
        return served
    return {**served, "status": final_status, "pending": None, "waiting": None}


def node_statuses(spec: Mapping[str, Any] | None, snapshot: Snapshot) -> dict[str, str]:
    """The status of each node of `spec`, by node id, from the snapshot as it is served.

    `completed`, `failed` or `running` by the node's last visit; `suspended` while it waits for a decision;
    `waiting` while it waits to be resumed; else `idle`, or `skipped` once the run has ended.
    """
    ended = final_status_of(snapshot) is not None
    nodes = (spec or {}).get("nodes") or []
    statuses = {node["id"]: "skipped" if ended else "idle" for node in nodes}
    for entry in snapshot.get("trace") or []:
        status = str(entry["status"])
        # A node that was at work when its run was killed did not come to its end.
        statuses[entry["node"]] = "failed" if ended and status == "running" else status
    for part, status in (("pending", "suspended"), ("waiting", "waiting")):
        if snapshot.get(part):
            statuses[snapshot[part]["node"]] = status
    return statuses
