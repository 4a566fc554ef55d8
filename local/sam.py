"""SAM CLI's own local services, `sam local start-api` and `sam local start-lambda`, as processes of the stack.

They run each function of a built template in a container of AWS's image, made at its first call and kept.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

import httpx

from local.docker import HOST_NAME, architecture, remove_containers
from local.execution_environment import Outcome, failure
from local.functions import REGION, Throttled, UnknownFunction
from local.model import Function
from local.network import LOOPBACK
from local.processes import end, last_lines, spawn
from local.waiting import wait_until

START_SECONDS = 120
STOP_SECONDS = 40
"""SAM removes its containers one after another before it ends."""
CONTAINER_SECONDS = 120
"""For a function's first call: its image is built from AWS's and the layer, and its container started."""

PASSED_ON = ("PATH", "HOME", "TMPDIR", "LANG", "XDG_RUNTIME_DIR")
OF_DOCKER = "DOCKER_"

FUNCTION_ERROR = "X-Amz-Function-Error"
OF_AN_ERROR = {"errorMessage", "errorType", "requestId", "stackTrace"}
CONTAINER = re.compile(r"^SAM_CONTAINER_ID: ([0-9a-f]{64})", re.MULTILINE)


@dataclass(frozen=True)
class Build:
    """What `sam build` made, and what it was told."""

    template: Path
    runtime: str  # such as 3.13


class SamService:
    """One of SAM's local services: `name` is `start-api` or `start-lambda`."""

    def __init__(self, name: str, build: Build, variables: Path, port: int, log: Path) -> None:
        self.url = f"http://{LOOPBACK}:{port}"
        self._name = name
        self._command = command(name, build, variables, port)
        self._log = log
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Starts the service and waits until it listens; containers that a killed one left are removed before."""
        remove_containers(containers_in(self._log))
        self._log.unlink(missing_ok=True)
        self._process = spawn(self._command, log=self._log, env=environment(os.environ))
        if not wait_until(lambda: self._answers() or not self.is_running(), START_SECONDS) or not self.is_running():
            raise RuntimeError(f"sam local {self._name} did not start:\n{last_lines(self._log)}")

    def is_running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def stop(self) -> None:
        """Ends the service, and what it left: one that is starting a container when it ends forgets it."""
        if self._process is not None:
            end(self._process, patience=STOP_SECONDS)
            self._process = None
            remove_containers(containers_in(self._log))

    def _answers(self) -> bool:
        try:
            httpx.get(f"{self.url}/no-such-route", timeout=2)
        except httpx.TransportError:
            return False
        return True


def command(name: str, build: Build, variables: Path, port: int) -> list[str]:
    """The command line of a service. It pulls no image: whether one may be pulled is decided before."""
    return [
        str(Path(sys.executable).with_name("sam")),
        *("local", name, "--template-file", str(build.template), "--env-vars", str(variables)),
        *("--host", LOOPBACK, "--port", str(port), "--add-host", f"{HOST_NAME}:host-gateway"),
        *("--warm-containers", "LAZY", "--skip-pull-image"),
        *("--parameter-overrides", f"Runtime=python{build.runtime}", f"Architecture={architecture()}"),
    ]


def environment(of_caller: Mapping[str, str]) -> dict[str, str]:
    """What SAM is given: how Docker is reached, and credentials that are made up, so that it looks for no others."""
    return {
        **{name: value for name, value in of_caller.items() if name in PASSED_ON or name.startswith(OF_DOCKER)},
        "SAM_CLI_TELEMETRY": "0",
        "PYTHONUNBUFFERED": "1",
        "AWS_REGION": REGION,
        "AWS_DEFAULT_REGION": REGION,
        "AWS_ACCESS_KEY_ID": "local",
        "AWS_SECRET_ACCESS_KEY": "local",
        "AWS_EC2_METADATA_DISABLED": "true",
    }


def containers_in(log: Path) -> list[str]:
    """The containers that a service's log names as started."""
    try:
        return CONTAINER.findall(log.read_text(errors="replace"))
    except FileNotFoundError:
        return []


def variables_of(functions: Collection[Function]) -> dict[str, dict[str, str]]:
    """The content of SAM's file of variables, by function. SAM takes no variable that the template does not declare."""
    return {function.name: dict(function.environment) for function in functions}


def write_variables(file: Path, functions: Collection[Function]) -> None:
    """Writes the file so that only this user can read it."""
    file.touch(mode=0o600)
    file.write_text(json.dumps(variables_of(functions), indent=2) + "\n")


def tells_an_error(payload: bytes) -> bool:
    """Whether the payload is what AWS's runtime client says of a handler that failed. SAM sees it in some of these."""
    try:
        answer = json.loads(payload)
    except ValueError:
        return False
    return isinstance(answer, dict) and {"errorMessage", "errorType"} <= answer.keys() <= OF_AN_ERROR


class SamFunctions:
    """The functions behind `sam local start-lambda`, at `url`."""

    def __init__(self, functions: Mapping[str, Function], url: str) -> None:
        self._functions = functions
        self._client = httpx.Client(base_url=url)

    def __contains__(self, name: str) -> bool:
        return name in self._functions

    def invoke(self, name: str, payload: bytes) -> Outcome:
        """The outcome for a JSON event. Raises `UnknownFunction`."""
        if name not in self._functions:
            raise UnknownFunction(name)
        try:
            answer = self._client.post(
                f"/2015-03-31/functions/{quote(name)}/invocations",
                content=payload,
                headers={"Content-Type": "application/json"},
                timeout=CONTAINER_SECONDS + self._functions[name].timeout,
            )
        except httpx.TransportError as error:
            return failure("ServiceUnavailable", f"sam local start-lambda did not answer: {type(error).__name__}")
        if answer.is_error:
            return failure("ServiceException", f"sam local start-lambda answered {answer.status_code}: {answer.text}")
        return Outcome(not (FUNCTION_ERROR in answer.headers or tells_an_error(answer.content)), answer.content)

    def invoke_quietly(self, name: str, payload: bytes) -> None:
        """Invokes where nobody is there to be told how it ended; SAM has logged it."""
        with suppress(Throttled, UnknownFunction):
            self.invoke(name, payload)

    def close(self) -> None:
        self._client.close()
