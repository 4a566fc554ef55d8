"""The engine as Lambda functions on this machine: the Invoke API in front of real Lambda runtime clients.

Restate invokes an ARN here. Each worker is an execution environment of its own, `python -m awslambdaric` polling
a Runtime API of its own, and is started on demand, as in production; `kill` ends them all in mid-work, and
`kill_before_answer` the next one that has done its work.
"""

from __future__ import annotations

import os
import queue
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Event, Lock, Thread
from typing import Any
from uuid import uuid4

from local.processes import spawn

ROOT = Path(__file__).resolve().parents[3]
ARN = "arn:aws:lambda:eu-west-1:123456789012:function:engine:1"
MOST_PAYLOAD_BYTES = 6 * 1024 * 1024
TOO_LARGE = {"x-amzn-ErrorType": "RequestTooLargeException"}
DIED = b'{"errorType": "Runtime.ExitError", "errorMessage": "the environment ended"}'


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Who hangs up is killed, or kills: nothing to tell."""


class Quiet(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1
    disable_nagle_algorithm = True

    def log_message(self, *_: Any) -> None:
        """Requests are not told."""

    def reply(self, status: int, body: bytes = b"", headers: Mapping[str, str] | None = None) -> None:
        self.send_response(status)
        for name, value in {**(headers or {}), "content-length": str(len(body))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def body(self) -> bytes:
        return self.rfile.read(int(self.headers.get("content-length", 0)))


@contextmanager
def serving(handler: type[BaseHTTPRequestHandler]) -> Iterator[str]:
    server = Server(("127.0.0.1", 0), handler)
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class Worker:
    """One execution environment. Nobody hears an answer that `is_killed` takes it with."""

    def __init__(self, environment: Mapping[str, str], log: Path, is_killed: Callable[[Worker], bool]) -> None:
        self.todo: queue.Queue[bytes] = queue.Queue()
        self.done: queue.Queue[tuple[bool, bytes]] = queue.Queue()
        self.process: subprocess.Popen[bytes] | None = None
        worker = self

        class RuntimeApi(Quiet):
            def do_GET(self) -> None:
                event = worker.todo.get()
                self.reply(
                    200,
                    event,
                    {
                        "Lambda-Runtime-Aws-Request-Id": str(uuid4()),
                        "Lambda-Runtime-Deadline-Ms": "4102444800000",
                        "Lambda-Runtime-Invoked-Function-Arn": ARN,
                        "Content-Type": "application/json",  # without it the runtime client crashes
                    },
                )

            def do_POST(self) -> None:
                body = self.body()
                if is_killed(worker):
                    return
                worker.done.put((self.path.endswith("/response"), body))
                self.reply(202)

        self._api = serving(RuntimeApi)
        api = self._api.__enter__()
        self.process = spawn(
            [sys.executable, "-m", "awslambdaric", "app.handler"],
            log=log,
            env={**environment, "AWS_LAMBDA_RUNTIME_API": api.removeprefix("http://")},
            cwd=ROOT / "functions" / "engine",
        )
        Thread(target=self._tell_the_end, daemon=True).start()

    def invoke(self, event: bytes) -> tuple[bool, bytes]:
        self.todo.put(event)
        return self.done.get()

    def is_alive(self) -> bool:
        return self.process is not None and self.process.poll() is None

    def end(self) -> None:
        if self.process is not None:
            with suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()

    def kill(self) -> None:
        self.end()
        self._api.__exit__(None, None, None)

    def _tell_the_end(self) -> None:
        if self.process is not None:
            self.process.wait()
            self.done.put((False, DIED))


class LambdaService:
    """The Invoke API of one function."""

    def __init__(self, environment: Mapping[str, str], log: Path) -> None:
        self.log = log
        self.killed = Event()
        self.largest = 0  # bytes of an invocation
        self._is_next_killed = False
        self._environment = {
            "PATH": os.environ.get("PATH", os.defpath),
            "PYTHONPATH": str(ROOT / "layers" / "meridian"),
            "AWS_LAMBDA_FUNCTION_NAME": "engine",
            "AWS_REGION": "eu-west-1",
            "PYTHONDONTWRITEBYTECODE": "1",
            **environment,
        }
        self._idle: list[Worker] = []
        self._all: list[Worker] = []
        self._lock = Lock()

    def invoke(self, event: bytes) -> tuple[bool, bytes]:
        with self._lock:
            worker = self._idle.pop() if self._idle else None
            if worker is None:
                worker = Worker(self._environment, self.log, self._kills)
                self._all.append(worker)
        answer = worker.invoke(event)
        if worker.is_alive():
            with self._lock:
                self._idle.append(worker)
        return answer

    def kill(self) -> None:
        """Ends every execution environment in mid-work."""
        with self._lock:
            workers, self._all, self._idle = self._all, [], []
        for worker in workers:
            worker.kill()

    def kill_before_answer(self) -> None:
        """Ends the next execution environment that answers: its work is done, and who invoked it never hears of it.

        `killed` is set when it is dead.
        """
        self._is_next_killed = True

    def _kills(self, worker: Worker) -> bool:
        with self._lock:
            kills, self._is_next_killed = self._is_next_killed, False
        if kills:
            worker.end()
            self.killed.set()
        return kills

    @contextmanager
    def listening(self) -> Iterator[str]:
        """Serves the Invoke API; gives its URL."""
        service = self

        class InvokeApi(Quiet):
            def do_POST(self) -> None:
                event = self.body()
                service.largest = max(service.largest, len(event))
                if len(event) > MOST_PAYLOAD_BYTES:  # as Lambda says it
                    self.reply(413, b'{"message": "Request must be smaller than 6291456 bytes"}', TOO_LARGE)
                    return
                ok, payload = service.invoke(event)
                self.reply(200, payload, {} if ok else {"X-Amz-Function-Error": "Unhandled"})

        with serving(InvokeApi) as url:
            try:
                yield url
            finally:
                self.kill()
