"""A stage for the life of runs: a real Restate with scripted runs, and a run index that knows them."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from itertools import count
from typing import Any

import httpx
import pytest

from local.ports import free_port
from local.restate import RestateServer
from local.waiting import wait_until
from meridian.clock import ago, now
from meridian.database import ensure_schema, open_database
from meridian.restate.ingress import Ingress
from meridian.runs.model import NewRun, RunRow
from meridian.runs.schema import RUN_SCHEMA
from meridian.runs.snapshot import Snapshot
from meridian.runs.store import SqlRunStore
from meridian.settlement.deadline import Deadline
from meridian.settlement.lease import Lease
from meridian.settlement.schema import LEASE_SCHEMA
from meridian.settlement.settling import Settlement
from meridian.settlement.sweep import Introspection, PassResult, SettlementPass
from tests.services.endpoint import serving
from tests.services.scripted import scripted_endpoint

_numbers = count(1)
_run_tag = free_port()  # one Restate serves many test modules: run ids are this process's own

VISIT = {"do": "visit", "node": "first"}
ASK = {"do": "ask", "node": "ask"}
WAIT = {"do": "wait", "node": "pause"}
END = {"do": "end"}
KIND, PATIENT = "patient", "p-42"


class Counted:
    """The metric `meridian.runs.settled`, kept."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.by: Counter[tuple[str, str]] = Counter()

    def __call__(self, ending: str, source: str) -> None:
        with self._lock:
            self.by[ending, source] += 1

    def take(self) -> dict[tuple[str, str], int]:
        """What was counted since the last call."""
        with self._lock:
            counted, self.by = dict(self.by), Counter()
        return counted


class Stage:
    """`store` is an index on `database_url`; runs are started on `server`, executed by the scripted endpoint."""

    def __init__(self, server: RestateServer, database_url: str, closures: list[dict[str, Any]]) -> None:
        self.server = server
        self.database_url = database_url
        self.closures = closures
        self.store = self.open_store()
        self.ingress = Ingress(server.ingress_url)
        self.admin = httpx.Client(base_url=server.admin_url, headers={"accept": "application/json"}, timeout=30)
        self.counted = Counted()

    def open_store(self) -> SqlRunStore:
        """Another connection to the index, as another process has."""
        database = open_database(self.database_url)
        ensure_schema(database, RUN_SCHEMA, LEASE_SCHEMA)
        return SqlRunStore(database)

    def close(self) -> None:
        self.store.close()
        self.ingress.close()
        self.admin.close()

    def index(
        self,
        run_id: str | None = None,
        *,
        subjects: Mapping[str, str] | None = None,
        restate_url: str | None = "own",
        created_at: str | None = None,
    ) -> str:
        """Writes a row for a run; the id of the run."""
        run_id = run_id or f"e{next(_numbers)}-{_run_tag}:alert"
        self.store.insert(
            NewRun(
                id=run_id,
                workflow_name="Alert",
                workflow_file="alert.json",
                workflow_slug="alert",
                spec_version=1,
                spec_hash="0" * 64,
                spec_json=None,
                subjects={KIND: PATIENT} if subjects is None else subjects,
                event={"eventId": run_id},
                source_event_id=run_id.partition(":")[0],
                route_match="unfiltered",
                event_type="t",
                created_at=created_at or now(),
                restate_url=self.ingress.url if restate_url == "own" else restate_url,  # type: ignore[arg-type]
                trigger_id=None,
            )
        )
        return run_id

    def start(self, *steps: Mapping[str, Any], **row: Any) -> str:
        """Starts a run and writes its row; the id of the run."""
        run_id = self.index(**row)
        self.ingress.send_run(run_id, {"at": now(), "steps": [*steps]})
        return run_id

    def row(self, run_id: str) -> RunRow:
        detail = self.store.get(run_id)
        assert detail is not None
        return detail.run

    def snapshot(self, run_id: str) -> Snapshot:
        """What Restate says of a run."""
        snapshot: Snapshot = self.ingress.get_run(run_id)
        return snapshot

    def until(self, run_id: str, status: str, seconds: float = 20) -> Snapshot:
        """Waits until the run's snapshot has the status."""
        assert wait_until(lambda: self.snapshot(run_id)["status"] == status, seconds), self.snapshot(run_id)
        return self.snapshot(run_id)

    def until_ended(self, run_id: str, seconds: float = 20) -> None:
        """Waits until Restate says that the invocation has ended."""
        assert wait_until(lambda: self.ingress.output(run_id).state in ("completed", "failed"), seconds)

    def invocation(self, run_id: str) -> dict[str, Any]:
        """Restate's own row of a run's invocation."""
        query = (
            "select id, status from sys_invocation "
            f"where target_service_key = '{run_id}' and target_handler_name = 'run'"
        )
        rows = self._admin("POST", "/query", {"query": query}).json()["rows"]
        return dict(rows[0]) if rows else {}

    def until_invocation(self, run_id: str, status: str, seconds: float = 20) -> None:
        """Waits until Restate gives the invocation the status."""
        assert wait_until(lambda: self.invocation(run_id).get("status") == status, seconds), self.invocation(run_id)

    def kill_invocation(self, invocation_id: str) -> None:
        self._admin("PATCH", f"/invocations/{invocation_id}/kill")

    def kill(self, run_id: str) -> None:
        self.kill_invocation(self.invocation(run_id)["id"])
        self.until_ended(run_id)

    def cancel(self, run_id: str) -> None:
        self._admin("PATCH", f"/invocations/{self.invocation(run_id)['id']}/cancel")
        self.until_ended(run_id)

    def _admin(self, method: str, path: str, body: Any = None) -> httpx.Response:
        return self.admin.request(method, path, json=body).raise_for_status()

    def settlement(self, *, ingress: Ingress | None = None, record_ports: Sequence[str] = (KIND,)) -> Settlement:
        """A settlement with a database connection of its own, counting in `counted`."""
        return Settlement(self.open_store(), ingress or self.ingress, record_ports, self.counted)

    def a_pass(
        self,
        *,
        settlement: Settlement | None = None,
        introspection: Introspection | None = None,
        lease: str = "settlement",
    ) -> SettlementPass:
        used = settlement or self.settlement()
        return SettlementPass(used, Lease(open_database(self.database_url), lease), nullcontext, introspection)

    def sweep(self, seconds: float = 60, **parts: Any) -> PassResult:
        """One settlement pass."""
        return self.a_pass(**parts).run(Deadline(seconds))


def logged(caplog: pytest.LogCaptureFixture) -> list[Any]:
    """The lines of the runs component, with their fields."""
    return [line for line in caplog.records if line.name == "meridian.runs"]


def old(number: int) -> str:
    """A time long ago; later for a greater number."""
    return ago(days=100, seconds=-number)


@contextmanager
def staged(server: RestateServer, database_url: str, **endpoint: Any) -> Iterator[Stage]:
    """A stage whose endpoint serves until the end of the block."""
    closures: list[dict[str, Any]] = []
    with serving(scripted_endpoint(closures, **endpoint)) as url:
        server.register({"uri": url, "use_http_11": True})
        stage = Stage(server, database_url, closures)
        try:
            yield stage
        finally:
            stage.close()
