"""One Lambda execution environment: a process of AWS's runtime client, and the Runtime API that it polls."""

from __future__ import annotations

import json
import queue
import threading
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from http import HTTPStatus
from subprocess import Popen

from local.http_server import Handler, Server
from local.processes import kill

INIT_SECONDS = 30
"""The time for importing a function's module. AWS gives 10 s; a small machine may start many at once."""

NEXT_INVOCATION = "/2018-06-01/runtime/invocation/next"


@dataclass(frozen=True)
class Outcome:
    """The answer of an invocation. Where it is not ok the payload is JSON with `errorType` and `errorMessage`."""

    ok: bool
    payload: bytes

    @property
    def error_message(self) -> str:
        """The sentence of an answer that is not ok; the trace that stands beside it is in the function's log."""
        return str(json.loads(self.payload)["errorMessage"])


_READY = Outcome(True, b"")
"""What an environment tells first: its module is imported, and it asked for work."""


@dataclass(frozen=True)
class _Invocation:
    request_id: str
    payload: bytes
    deadline: float  # since the epoch


class ExecutionEnvironment:
    """Runs one invocation at a time. `start` is given the Runtime API's address and starts the process."""

    def __init__(self, start: Callable[[str], Popen[bytes]], arn: str, timeout: float) -> None:
        self._arn = arn
        self._timeout = timeout
        self._work: queue.SimpleQueue[_Invocation | None] = queue.SimpleQueue()
        self._told: queue.SimpleQueue[Outcome] = queue.SimpleQueue()
        self._initialised = False
        self._api = Server()
        self._api.start(self._runtime_api())
        self._process = start(f"127.0.0.1:{self._api.port}")
        threading.Thread(target=self._watch, daemon=True, name="watch").start()

    @property
    def is_alive(self) -> bool:
        return self._process.poll() is None

    def invoke(self, payload: bytes) -> Outcome:
        """Runs the handler on a JSON event. An environment that fails to start or runs out of time is closed."""
        if not self._initialised:
            first = self._next(INIT_SECONDS)
            if first is not _READY:
                self.close()
                return first or _timed_out("Init", INIT_SECONDS)
            self._initialised = True
        self._work.put(_Invocation(str(uuid.uuid4()), payload, time.time() + self._timeout))
        outcome = self._next(self._timeout)
        if outcome is None:
            self.close()
            return _timed_out("Task", self._timeout)
        return outcome

    def close(self) -> None:
        """Kills the process; AWS gives a function no warning either."""
        kill(self._process)
        self._work.put(None)
        self._api.stop()

    def _next(self, seconds: float) -> Outcome | None:
        try:
            return self._told.get(timeout=seconds)
        except queue.Empty:
            return None

    def _watch(self) -> None:
        """Tells of the process's end whoever waits for an answer of it."""
        status = self._process.wait()
        self._told.put(failure("Runtime.ExitError", f"Runtime exited with exit status {status}"))

    def _runtime_api(self) -> type[Handler]:
        environment = self

        class RuntimeApi(Handler):
            """https://docs.aws.amazon.com/lambda/latest/dg/runtimes-api.html"""

            timeout = None  # an idle environment may wait for hours

            def answer(self) -> None:
                if self.path == NEXT_INVOCATION:
                    self._give_work()
                else:  # …/invocation/<id>/response, …/invocation/<id>/error or …/init/error
                    body = self.rfile.read(int(self.headers["Content-Length"]))
                    self.reply(HTTPStatus.ACCEPTED)
                    self.wfile.flush()
                    environment._told.put(Outcome(self.path.endswith("/response"), body))

            def _give_work(self) -> None:
                if not environment._initialised:
                    environment._told.put(_READY)
                invocation = environment._work.get()
                if invocation is None:
                    self.close_connection = True
                    return
                headers = (
                    ("Lambda-Runtime-Aws-Request-Id", invocation.request_id),
                    ("Lambda-Runtime-Deadline-Ms", str(int(invocation.deadline * 1000))),
                    ("Lambda-Runtime-Invoked-Function-Arn", environment._arn),
                )
                self.reply(HTTPStatus.OK, invocation.payload, "application/json", headers)

        return RuntimeApi


def failure(error: str, message: str) -> Outcome:
    """An outcome that the function did not give itself."""
    return Outcome(False, json.dumps({"errorType": error, "errorMessage": message}).encode())


def _timed_out(what: str, seconds: float) -> Outcome:
    return failure("Sandbox.Timedout", f"{what} timed out after {seconds:.2f} seconds")
