"""What the local stack reads in a template, with SAM CLI's providers, in the environment that has them."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.services.stack import ROOT, stack_python

SAMPLE = Path(__file__).parent / "sample"

READ = """
import json, sys
from dataclasses import asdict
from pathlib import Path
from local.template import read_template
print(json.dumps(asdict(read_template(Path(sys.argv[1]))), default=str))
"""

HEAD = """
Transform: AWS::Serverless-2016-10-31
Resources:
  F:
    Type: AWS::Serverless::Function
    Properties: {CodeUri: ., Runtime: python3.13, Handler: app.handler, Events: {E: %s}}
"""


def read(template: Path) -> subprocess.CompletedProcess[str]:
    command = [str(stack_python()), "-c", READ, str(template)]
    return subprocess.run(command, cwd=ROOT, check=False, capture_output=True, text=True)


@pytest.fixture(scope="module")
def application() -> Any:
    return json.loads(read(SAMPLE / "template.yaml").stdout)


def test_globals_layers_and_paths_are_resolved(application: Any) -> None:
    probe = application["functions"]["ProbeFunction"]

    assert probe["handler"] == "app.handler"
    assert probe["timeout"] == 20
    assert probe["code"] == str(SAMPLE / "functions" / "probe")
    assert probe["layers"] == [str(SAMPLE / "layer")]
    assert probe["environment"]["GREETING"] == "hello"
    assert application["functions"]["ImpatientFunction"]["timeout"] == 1


def test_reserved_concurrency_is_read(application: Any) -> None:
    reserved = {name: f["reserved_concurrency"] for name, f in application["functions"].items()}

    assert reserved["SettlementFunction"] == 1
    assert reserved["ProbeFunction"] is None


def test_each_route_belongs_to_its_api(application: Any) -> None:
    routes = {(r["api"], r["method"], r["path"], r["function"]) for r in application["routes"]}

    assert routes == {
        ("PublicApi", "POST", "/probe/{what}", "ProbeFunction"),
        ("PublicApi", "GET", "/probe/{what}", "ProbeFunction"),
        ("InternalApi", "POST", "/internal/{what}", "ProbeFunction"),
        ("PublicApi", "POST", "/impatient/{what}", "ImpatientFunction"),
    }


def test_schedules_that_are_on_are_read_with_their_parameters(application: Any) -> None:
    assert application["schedules"] == [{"function": "SettlementFunction", "seconds": 300, "input": None}]


@pytest.mark.parametrize(
    ("event", "said"),
    [
        ("{Type: Schedule, Properties: {Schedule: 'cron(0 12 * * ? *)'}}", "only rates tick"),
        ("[", "SAM cannot read"),
    ],
)
def test_what_cannot_be_done_here_is_said(event: str, said: str, tmp_path: Path) -> None:
    template = tmp_path / "template.yaml"
    template.write_text(HEAD % event)

    assert said in read(template).stderr


def test_the_projects_own_template_has_its_functions_and_apis() -> None:
    application = json.loads(read(ROOT / "template.yaml").stdout)

    assert {"IngestionFunction", "RunsFunction", "WorkflowsFunction", "EngineFunction"} <= set(application["functions"])
    for route in application["routes"]:
        assert ("/internal/" in route["path"]) == (route["api"] == "InternalApi")
