"""A small application in the real runtime client, behind the local APIs, without PostgreSQL or Restate."""

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest

from local.follow_ups import FollowUps
from local.functions import Functions
from local.http_api import http_api
from local.http_server import Server
from local.lambda_service import lambda_service
from local.model import Function, Route

SAMPLE = Path(__file__).parent / "sample"


@dataclass(frozen=True)
class Application:
    """The sample's servers, and where its functions log."""

    functions: Functions
    api: httpx.Client
    lambda_url: str
    logs: Path


def sample_function(name: str, timeout: float = 20, reserved: int | None = None) -> Function:
    return Function(
        name=name,
        handler="app.handler",
        code=SAMPLE / "functions" / "probe",
        layers=(SAMPLE / "layer",),
        environment={"GREETING": "hello"},
        timeout=timeout,
        memory=128,
        reserved_concurrency=reserved,
    )


@pytest.fixture(scope="module")
def application(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Application]:
    logs = tmp_path_factory.mktemp("logs")
    declared = [
        sample_function("Probe"),
        sample_function("Impatient", timeout=1),
        sample_function("Single", reserved=1),
        sample_function("FollowUpFunction"),
    ]
    functions = Functions({function.name: function for function in declared}, Path(sys.executable), logs)
    routes = [
        Route("Api", "POST", "/probe/{what}", "Probe"),
        Route("Api", "GET", "/probe/{what}", "Probe"),
        Route("Api", "POST", "/impatient/{what}", "Impatient"),
        Route("Other", "GET", "/internal", "Probe"),
    ]
    follow_ups = FollowUps(lambda event: functions.invoke_quietly("FollowUpFunction", event))
    api, service = Server(), Server()
    api.start(http_api("Api", routes, functions))
    service.start(lambda_service(functions, follow_ups))
    follow_ups.start()
    with httpx.Client(base_url=api.url, timeout=60) as client:
        yield Application(functions, client, service.url, logs)
    follow_ups.stop()
    api.stop()
    service.stop()
    functions.close()
