"""The built functions as they are deployed: beside a Restate that calls the engine by its ARN, and a PostgreSQL."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from local.follow_ups import PATH as FOLLOW_UPS_PATH
from local.follow_ups import FollowUps
from local.functions import Functions, arn_of
from local.http_api import http_api
from local.http_server import Server
from local.lambda_service import lambda_service
from local.model import Route
from local.restate import RestateServer
from local.waiting import wait_until
from tests.deployment.samples import load
from tests.services.bucket import bucket_of_answers
from tests.services.build import built_functions, runtime_python
from tests.services.restate import running_restate
from tests.services.stack import ROOT

ENGINE_ARN = f"{arn_of('EngineFunction')}:1"
INTERNAL_API = "InternalApi"
MEMORY_ROUTES = tuple(
    Route(INTERNAL_API, "POST", f"/api/internal/memory/{operation}", "MemoryFunction")
    for operation in ("read", "write", "forget")
)


@dataclass(frozen=True)
class Deployment:
    functions: Functions
    restate: RestateServer
    registration: dict[str, Any]  # what CloudFormation was answered of the engine

    def call(self, function: str, event: Any) -> Any:
        """The answer of a function that does not fail."""
        outcome = self.functions.invoke(function, json.dumps(event).encode())
        assert outcome.ok, outcome.payload
        return json.loads(outcome.payload)

    def request(self, function: str, event: str, path: str, body: Any = None, **parameters: str) -> Any:
        """The body of a request that is answered well: the sample event with another path and body."""
        changed = {"rawPath": path, "pathParameters": parameters, "body": json.dumps(body)}
        answer = self.call(function, load(event) | changed)
        assert answer["statusCode"] in (200, 201, 202), answer
        return json.loads(answer["body"])

    def publish(self, slug: str, definition: Any) -> None:
        path = f"/api/workflows/{slug}/versions"
        self.request("WorkflowsFunction", "workflows-publish", path, definition, slug=slug)

    def run(self, run_id: str) -> Any:
        return self.request("RunsFunction", "runs-detail", f"/api/runs/{run_id}", id=run_id)

    def run_once(self, run_id: str, status: str) -> Any:
        """The run as soon as it has this status."""
        assert wait_until(lambda: self.run(run_id)["status"] == status, 60), self.run(run_id)
        return self.run(run_id)

    def invocation_status(self, run_id: str) -> str:
        """What Restate says of the invocation that executes the run."""
        query = (
            f"SELECT status FROM sys_invocation WHERE target_handler_name = 'run' AND target_service_key = '{run_id}'"
        )
        answer = httpx.post(
            f"{self.restate.admin_url}/query", json={"query": query}, headers={"accept": "application/json"}
        )
        (row,) = answer.json()["rows"]
        return str(row["status"])


@contextmanager
def deployed(build: Path, database_url: str, folder: Path) -> Iterator[Deployment]:
    """Runs the functions of `build`, migrates the database and registers the engine as a deployment does."""
    service, internal = Server(0), Server(0)
    with running_restate(folder, lambda_url=service.url) as restate:
        environment = {
            "RUN_DB_URL": database_url,
            "RESTATE_URL": restate.ingress_url,
            "RESTATE_ADMIN_URL": restate.admin_url,
            "SETTLE_QUEUE_URL": f"{service.url}{FOLLOW_UPS_PATH}",
            "API_INTERNAL_URL": internal.url,
            "POWERTOOLS_SERVICE_NAME": "meridian",
        }
        functions = Functions(built_functions(build, environment), runtime_python(), folder)
        follow_ups = FollowUps(lambda event: functions.invoke_quietly("FollowUpFunction", event))
        service.start(lambda_service(functions, follow_ups))
        internal.start(http_api(INTERNAL_API, MEMORY_ROUTES, functions))
        follow_ups.start()
        try:
            _created(functions, "Schema")
            registration = _created(functions, "EngineRegistration", EngineVersionArn=ENGINE_ARN)
            deployment = Deployment(functions, restate, registration)
            definition = json.loads((ROOT / "workflows" / "potassium-alert.json").read_text())
            deployment.publish("potassium-alert", definition)
            yield deployment
        finally:
            functions.close()
            follow_ups.stop()
            for server in (service, internal):
                server.stop()


def _created(functions: Functions, resource: str, **properties: str) -> dict[str, Any]:
    """What CloudFormation is answered when it creates a custom resource."""
    with bucket_of_answers() as bucket:
        event = load("migrate-deletion") | {
            "RequestType": "Create",
            "ResponseURL": bucket.url,
            "ResourceType": f"Custom::{resource}",
            "ResourceProperties": {"ServiceToken": "arn", **properties},
        }
        outcome = functions.invoke("MigrateFunction", json.dumps(event).encode())
        assert outcome.ok, outcome.payload
        return bucket.answers[0]
