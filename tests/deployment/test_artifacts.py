"""What was built, run as on AWS: in its runtime client, with the layer's packages importable and no others.

The engine is called by its ARN from a real Restate.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from local.postgres import PostgresServer
from local.waiting import wait_until
from tests.deployment.deployment import ENGINE_ARN, Deployment, deployed
from tests.deployment.samples import EVENTS, RUN, SAMPLES
from tests.services.bucket import bucket_of_answers
from tests.services.build import LAYER, THE_OTHER, THIS_MACHINE, built
from tests.services.postgres import fresh_database

# The first build in a checkout loads the libraries.
pytestmark = pytest.mark.timeout(900)

MACHINES = {"x86_64": 62, "arm64": 183}
"""The processors as ELF numbers them: EM_X86_64 and EM_AARCH64."""


@pytest.fixture(scope="module")
def build() -> Iterator[Path]:
    with built(THIS_MACHINE) as folder:
        yield folder


@pytest.fixture(scope="module")
def deployment(
    build: Path, postgres_server: PostgresServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Deployment]:
    folder = tmp_path_factory.mktemp("deployment")
    with fresh_database(postgres_server) as url, deployed(build, url, folder) as running:
        yield running


def test_every_sample_is_tried() -> None:
    assert sorted(file.stem for file in EVENTS.glob("*.json")) == sorted(sample.event for sample in SAMPLES)


def test_every_function_has_a_sample(build: Path) -> None:
    assert {folder.name for folder in build.glob("*Function")} == {sample.function for sample in SAMPLES}


def test_a_build_has_its_id_in_every_function_that_is_published(build: Path) -> None:
    ids = re.findall(r"AutoPublishCodeSha256: [\"'](\w{10})[\"']\n", (build / "template.yaml").read_text())
    assert len(ids) == 7
    assert len(set(ids)) == 1


def test_samples_are_answered(deployment: Deployment) -> None:
    """In one test, because the later ones read what the earlier ones wrote."""
    for sample in SAMPLES:
        if sample.event == "ingestion-recent":  # its run remembers the last value before it asks
            deployment.run_once(RUN, "suspended")
        event = sample.load()
        with bucket_of_answers() as bucket:
            if "ResponseURL" in event:
                event["ResponseURL"] = bucket.url
            sample.check(deployment.call(sample.function, event))
        assert [answer["Status"] for answer in bucket.answers] == ["SUCCESS"] * ("ResponseURL" in event)


def test_deployment_registers_the_engine_by_the_arn_of_its_version(deployment: Deployment) -> None:
    assert deployment.registration["Status"] == "SUCCESS"
    known = httpx.get(f"{deployment.restate.admin_url}/deployments").json()["deployments"]
    assert [(one["id"], one["arn"]) for one in known] == [(deployment.registration["Data"]["deploymentId"], ENGINE_ARN)]


def test_restate_calls_the_engine_by_its_arn_through_suspensions_and_resumptions(deployment: Deployment) -> None:
    run = "arn-1:by-arn"
    definition = {
        "name": "Ask, then wait",
        "entries": [{"id": "only", "event": "arn.asked"}],
        "start": "ask",
        "nodes": [
            {"id": "ask", "type": "validation", "title": "Go on?", "outcomes": {"approved": "pause"}},
            {"id": "pause", "type": "wait", "next": "done"},
            {"id": "done", "type": "end", "output": "{by: nodes.ask.output.by, told: nodes.pause.output.data}"},
        ],
    }
    deployment.publish("by-arn", definition)
    event = {"eventId": "arn-1", "type": "arn.asked"}
    deployment.request("IngestionFunction", "ingestion-post", "/api/events", event)

    deployment.run_once(run, "suspended")
    assert wait_until(lambda: deployment.invocation_status(run) == "suspended", 30)
    decision = {"outcome": "approved", "by": "dr-leroy"}
    path = f"/api/decide/{run}/ask"
    deployment.request("RunsFunction", "runs-decide", path, decision, runId=run, nodeId="ask")

    deployment.run_once(run, "waiting")
    assert wait_until(lambda: deployment.invocation_status(run) == "suspended", 30)
    path = f"/api/resume/{run}/pause"
    deployment.request("RunsFunction", "runs-resume", path, {"data": 7}, runId=run, nodeId="pause")

    ended = deployment.run_once(run, "completed")
    assert ended["snapshot"]["trace"][-1]["output"] == {"by": "dr-leroy", "told": 7}


def test_artifacts_are_for_this_machine(build: Path) -> None:
    assert_bytecode_stands_alone(build)
    assert_libraries_are_for(THIS_MACHINE, build)


def test_artifacts_are_built_for_the_other_processor_too() -> None:
    with built(THE_OTHER) as folder:
        assert_bytecode_stands_alone(folder)
        assert_libraries_are_for(THE_OTHER, folder)


def test_nothing_of_the_runtime_is_shipped_twice(build: Path) -> None:
    assert not (build / LAYER / "python" / "botocore").exists()


def assert_bytecode_stands_alone(folder: Path) -> None:
    """Every module has bytecode by a hash that is not checked: of its flags bit 0 is set, bit 1 is not (PEP 552)."""
    sources = [*folder.rglob("*.py")]
    assert len(sources) > 500
    for source in sources:
        (compiled,) = (source.parent / "__pycache__").glob(f"{source.stem}.cpython-*.pyc")
        with compiled.open("rb") as file:
            assert struct.unpack("<I", file.read(8)[4:])[0] == 0b01, compiled


def assert_libraries_are_for(architecture: str, folder: Path) -> None:
    """Every shared object is an ELF file for the processor."""
    for artifact in (LAYER, "EngineFunction"):
        libraries = [*(folder / artifact).rglob("*.so"), *(folder / artifact).rglob("*.so.*")]
        assert libraries, artifact
        for library in libraries:
            with library.open("rb") as file:
                header = file.read(20)
            assert header[:4] == b"\x7fELF", library
            assert struct.unpack("<H", header[18:20])[0] == MACHINES[architecture], library
