"""The engine in real Lambda runtime clients behind a real Restate."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from typing import Any

import pytest

from local.restate import RestateServer
from meridian.restate.ingress import Ingress
from tests.integration.engine.lambda_service import ARN, LambdaService
from tests.integration.engine.world import Service, run_input, service
from tests.services.restate import running_restate

_numbers = count(1)


@dataclass
class Engine:
    """Restate with the engine, and the systems beside it."""

    restate: RestateServer
    functions: LambdaService
    ingress: Ingress
    memory: Service
    record: Service

    def start(self, nodes: list[dict[str, Any]], **changes: Any) -> str:
        """Starts a run of these nodes; gives its id."""
        run_id = f"evt-{next(_numbers)}:workflow"
        assert self.ingress.send_run(run_id, run_input(run_id, nodes, **changes))
        return run_id

    def until(self, run_id: str, *statuses: str, seconds: float = 30) -> dict[str, Any]:
        """The snapshot of a run once it has one of these statuses."""
        end = time.monotonic() + seconds
        while True:
            snapshot: dict[str, Any] = self.ingress.get_run(run_id)
            if snapshot["status"] in statuses:
                return snapshot
            assert time.monotonic() < end, f"the run is {snapshot}"
            time.sleep(0.05)


@pytest.fixture(scope="session")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    folder = tmp_path_factory.mktemp("engine")
    with service() as memory, service() as record:
        functions = LambdaService(
            {
                "API_INTERNAL_URL": memory.url,
                "RECORD_PORTS": f"patient={record.url}/ports/patient, encounter",
                "LOG_LEVEL": "INFO",
            },
            folder / "engine.log",
        )
        with functions.listening() as lambda_url, running_restate(folder, lambda_url) as restate:
            restate.register({"arn": ARN})
            ingress = Ingress(restate.ingress_url)
            yield Engine(restate, functions, ingress, memory, record)
            ingress.close()


@pytest.fixture(autouse=True)
def _fresh_services(engine: Engine) -> None:
    """Each test begins with services that were asked nothing and answer 200."""
    for beside in (engine.memory, engine.record):
        beside.answers = [(200, "{}")]
        beside.answer = None
        beside.requests.clear()
        beside.arrived.clear()
        beside.open.set()
