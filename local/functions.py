"""The functions of a template, each in as many execution environments as it is called at once."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from subprocess import Popen
from typing import Protocol

from local.execution_environment import ExecutionEnvironment, Outcome
from local.model import Function
from local.processes import spawn

ACCOUNT, REGION = "123456789012", "eu-west-1"
MOST_ENVIRONMENTS = 8
"""Of one function at once. AWS allows a thousand; here more calls wait for one to be free."""
PATIENCE_SECONDS = 0.1

PASSED_ON = ("PATH", "TMPDIR", "SSL_CERT_FILE", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY")


class Throttled(Exception):
    """The function runs as often as it may at once."""


class UnknownFunction(Exception):
    """The template has no function of this name."""


class Invoker(Protocol):
    """The functions of a template, wherever they run."""

    def __contains__(self, name: str) -> bool: ...

    def invoke(self, name: str, payload: bytes) -> Outcome:
        """The outcome for a JSON event. Raises `UnknownFunction` or `Throttled`."""

    def invoke_quietly(self, name: str, payload: bytes) -> None:
        """Invokes where nobody is there to be told how it ended."""


class Functions:
    """Invokes functions by name, from any thread. `python` is the interpreter of what they may import."""

    def __init__(self, functions: Mapping[str, Function], python: Path, logs: Path) -> None:
        self._pools = {name: _Pool(function, python, logs / f"{name}.log") for name, function in functions.items()}

    def __contains__(self, name: str) -> bool:
        return name in self._pools

    def invoke(self, name: str, payload: bytes) -> Outcome:
        """The outcome for a JSON event. Raises `UnknownFunction` or `Throttled`."""
        if name not in self._pools:
            raise UnknownFunction(name)
        return self._pools[name].invoke(payload)

    def invoke_quietly(self, name: str, payload: bytes) -> None:
        """Invokes where nobody is there to be told how it ended; the function has logged it."""
        with suppress(Throttled, UnknownFunction):
            self.invoke(name, payload)

    def close(self) -> None:
        """Kills every environment; calls from now on are `Throttled`."""
        for pool in self._pools.values():
            pool.close()


class _Pool:
    """The execution environments of one function: the one used last is used first, as AWS does."""

    def __init__(self, function: Function, python: Path, log: Path) -> None:
        self._function = function
        self._python = python
        self._log = log
        reserved = function.reserved_concurrency
        self._is_reserved = reserved is not None
        self._free = threading.Semaphore(MOST_ENVIRONMENTS if reserved is None else reserved)
        self._changed = threading.Condition()
        self._idle: list[ExecutionEnvironment] = []
        self._all: set[ExecutionEnvironment] = set()
        self._is_closed = False

    def invoke(self, payload: bytes) -> Outcome:
        """With reserved concurrency a call too many is throttled at once, otherwise it waits its turn."""
        if not self._free.acquire(timeout=0 if self._is_reserved else self._function.timeout):
            raise Throttled(self._function.name)
        try:
            environment = self._take()
            try:
                return environment.invoke(payload)
            finally:
                self._give_back(environment)
        finally:
            self._free.release()

    def close(self) -> None:
        with self._changed:
            self._is_closed = True
            environments, self._all, self._idle = self._all, set(), []
            self._changed.notify_all()
        for environment in environments:
            environment.close()

    def _take(self) -> ExecutionEnvironment:
        """An idle environment that still lives, else a new one.

        A new one costs a small machine half a second of work, so a call waits a moment for one in use.
        """
        patience_ends = time.monotonic() + PATIENCE_SECONDS
        with self._changed:
            while not self._is_closed:
                environment = self._idle_one()
                if environment is not None:
                    return environment
                left = patience_ends - time.monotonic()
                if not self._all or left <= 0:
                    environment = self._start()
                    self._all.add(environment)
                    return environment
                self._changed.wait(left)
        raise Throttled(self._function.name)

    def _idle_one(self) -> ExecutionEnvironment | None:
        while self._idle:
            environment = self._idle.pop()
            if environment.is_alive:
                return environment
            self._discard(environment)
        return None

    def _give_back(self, environment: ExecutionEnvironment) -> None:
        with self._changed:
            if environment.is_alive and not self._is_closed:
                self._idle.append(environment)
                self._changed.notify()
            else:
                self._discard(environment)

    def _discard(self, environment: ExecutionEnvironment) -> None:
        self._all.discard(environment)
        environment.close()

    def _start(self) -> ExecutionEnvironment:
        function = self._function
        command = [str(self._python), "-m", "awslambdaric", function.handler]

        def start(runtime_api: str) -> Popen[bytes]:
            env = environment_variables(function, runtime_api)
            return spawn(command, log=self._log, env=env, cwd=function.code)

        return ExecutionEnvironment(start, arn_of(function.name), function.timeout)


def arn_of(function: str) -> str:
    return f"arn:aws:lambda:{REGION}:{ACCOUNT}:function:{function}"


def environment_variables(function: Function, runtime_api: str) -> dict[str, str]:
    """What AWS sets for a function, what the template sets, and little else of this machine's own.

    The credentials are made up, so that no call of a function reaches a real account.
    """
    return {
        **{name: os.environ[name] for name in PASSED_ON if name in os.environ},
        "LANG": "C.UTF-8",
        "TZ": ":UTC",
        "AWS_LAMBDA_RUNTIME_API": runtime_api,
        "AWS_LAMBDA_FUNCTION_NAME": function.name,
        "AWS_LAMBDA_FUNCTION_VERSION": "$LATEST",
        "AWS_LAMBDA_FUNCTION_MEMORY_SIZE": str(function.memory),
        "AWS_LAMBDA_LOG_GROUP_NAME": f"/aws/lambda/{function.name}",
        "AWS_LAMBDA_INITIALIZATION_TYPE": "on-demand",
        "AWS_EXECUTION_ENV": f"AWS_Lambda_python{sys.version_info.major}.{sys.version_info.minor}",
        "AWS_REGION": REGION,
        "AWS_DEFAULT_REGION": REGION,
        "AWS_ACCESS_KEY_ID": "local",
        "AWS_SECRET_ACCESS_KEY": "local",
        "AWS_SAM_LOCAL": "true",  # libraries know by it that there is no X-Ray daemon
        "LAMBDA_TASK_ROOT": str(function.code),
        "_HANDLER": function.handler,
        "PYTHONUNBUFFERED": "1",  # a log line is in the log when it was written
        "PYTHONPATH": os.pathsep.join(map(str, (function.code, *function.layers))),
        **function.environment,
    }
