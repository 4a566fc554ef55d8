"""The APIs of a running stack keep what their OpenAPI documents promise, whatever they are sent.

Schemathesis makes requests from the documents, valid and invalid ones, the same at each run, and holds every answer
against them: no server error, and no status, type, header or body that the document does not tell of. The stack is
one of this module's own, since workflows are published and switched off at random.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.services.stack import ROOT, RunningStack, running_stack

CONFIGURATION = Path(__file__).with_name("schemathesis.toml")
VERSION = f"{sys.version_info.major}.{sys.version_info.minor}"


@pytest.fixture(scope="module")
def own_stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningStack]:
    with running_stack(tmp_path_factory.mktemp("stack"), DEMO="1") as running:
        yield running


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("document", ["openapi.json", "openapi-internal.json"])
def test_every_answer_is_one_that_the_document_tells_of(own_stack: RunningStack, document: str, tmp_path: Path) -> None:
    url = own_stack.internal_api if "internal" in document else own_stack.api
    schemathesis = ROOT / ".venvs" / f"audit-{VERSION}" / "bin" / "schemathesis"
    command = [str(schemathesis), "--config-file", str(CONFIGURATION), "run", str(ROOT / "docs" / document)]

    done = subprocess.run([*command, "--url", url], cwd=tmp_path, capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stdout + done.stderr
