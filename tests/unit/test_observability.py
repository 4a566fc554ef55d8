"""What an invocation that fails tells of itself, in the process that Lambda would run."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SECRET = "secret-in-an-error"

FAILS = """
import traceback
from meridian.errors import DatabaseUnavailable
from meridian.observability import observed, span
from tests.services.functions import Context

@observed
def handler(event, context):
    with span("runs.settle"):
        STATEMENT

try:
    handler({}, Context())
except Exception:
    traceback.print_exc()  # as AWS's runtime client does
"""


def failed(statement: str) -> tuple[str, str]:
    """What an invocation that does this writes, and what it sends to X-Ray's daemon."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as daemon:
        daemon.bind(("127.0.0.1", 0))
        environment = os.environ | {
            "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "layers" / "meridian")]),
            "LAMBDA_TASK_ROOT": "/var/task",
            "AWS_XRAY_DAEMON_ADDRESS": f"127.0.0.1:{daemon.getsockname()[1]}",
            "_X_AMZN_TRACE_ID": "Root=1-5759e988-bd862e3fe1be46a994272793;Parent=53995c3f42cd8ad8;Sampled=1",
        }
        environment.pop("POWERTOOLS_TRACE_DISABLED", None)
        done = subprocess.run(
            [sys.executable, "-c", FAILS.replace("STATEMENT", statement)],
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        daemon.setblocking(False)
        sent = []
        while True:
            try:
                sent.append(daemon.recv(65_536).decode())
            except BlockingIOError:
                return done.stdout + done.stderr, "".join(sent)


@pytest.mark.parametrize("statement", [f"raise ValueError('{SECRET}')", f"int('{SECRET}')", f"{{}}['{SECRET}']"])
def test_an_error_that_nobody_expected_is_told_by_its_type_and_place(statement: str) -> None:
    written, traced = failed(statement)
    kind = "KeyError" if statement.startswith("{") else "ValueError"
    assert f"InvocationFailed: {kind}" in written
    assert f'"message": "{kind}"' in traced
    assert SECRET not in written.replace(statement, "")  # the line of the source
    assert SECRET not in traced
    assert '"message":"unexpected error"' in written


def test_an_error_of_ours_is_told_as_it_is() -> None:
    written, traced = failed("raise DatabaseUnavailable('The database is out of reach.')")
    assert "DatabaseUnavailable: The database is out of reach." in written
    assert "The database is out of reach." in traced
