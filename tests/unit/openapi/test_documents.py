"""The OpenAPI documents are those of the functions' routes as they are."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from pydantic import ValidationError

from meridian.memory.requests import AddressFields

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture(params=["openapi.json", "openapi-internal.json"])
def document(request: pytest.FixtureRequest) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((ROOT / "docs" / request.param).read_text())
    return content


def test_documents_are_what_the_routes_say_today() -> None:
    """`make openapi` writes them anew."""
    command = [sys.executable, "-m", "scripts.openapi", "--check"]
    environment = {"PYTHONPATH": f"{ROOT / 'layers' / 'meridian'}", "PATH": "/usr/bin:/bin"}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_every_operation_has_an_id_a_summary_and_an_answer_that_is_no_error(document: dict[str, Any]) -> None:
    operations = [operation for path in document["paths"].values() for operation in path.values()]
    assert len({operation["operationId"] for operation in operations}) == len(operations)
    for operation in operations:
        assert operation["summary"]
        assert any(status.startswith("2") for status in operation["responses"])


def test_every_reference_leads_to_a_schema(document: dict[str, Any]) -> None:
    def references(value: Any) -> list[str]:
        if isinstance(value, dict):
            own = [value["$ref"]] if isinstance(value.get("$ref"), str) else []
            return own + [found for item in value.values() for found in references(item)]
        return [found for item in value for found in references(item)] if isinstance(value, list) else []

    for reference in references(document):
        place: Any = document
        for part in reference.removeprefix("#/").split("/"):
            place = place[part]
        assert isinstance(place, dict)


def test_whoever_takes_a_body_says_how_it_is_refused(document: dict[str, Any]) -> None:
    for path in document["paths"].values():
        for operation in path.values():
            if "requestBody" in operation:
                assert {"400", "413", "422"} <= operation["responses"].keys()


ADDRESS = {"scope": "subject", "subjectKind": "patient", "subjectId": "p-1", "key": "k"}


@pytest.mark.parametrize(
    "body",
    [
        ADDRESS,
        ADDRESS | {"workflow": ""},
        ADDRESS | {"workflow": "potassium-alert"},
        ADDRESS | {"scope": "workflow"},
        ADDRESS | {"scope": "workflow", "workflow": "potassium-alert"},
        {"scope": "workflow-global", "workflow": "potassium-alert", "key": "k"},
        {"scope": "workflow-global", "workflow": "potassium-alert", "subjectKind": "patient", "key": "k"},
        {"scope": "subject", "key": "k"},
        {"scope": "nowhere", "key": "k"},
    ],
)
def test_the_document_takes_the_addresses_that_the_route_takes(body: dict[str, Any]) -> None:
    schemas = json.loads((ROOT / "docs/openapi-internal.json").read_text())["components"]["schemas"]
    try:
        AddressFields.model_validate(body)
        is_taken = True
    except ValidationError:
        is_taken = False

    assert Draft202012Validator(schemas["AddressFields"]).is_valid(body) == is_taken
