"""A Restate endpoint in the test's own process: an ASGI application over plain HTTP, a thread a request."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any, ClassVar

from local.ports import free_port


@contextmanager
def serving(application: Any, port: int | None = None) -> Iterator[str]:
    """Serves `application`, made with `restate.app(…, protocol="request_response")`; gives its URL.

    To be registered with `use_http_11`. Afterwards nobody answers at the URL; a second `serving` on the same
    port brings the endpoint back.
    """

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            self._answer()

        def do_POST(self) -> None:
            self._answer()

        def log_message(self, *args: Any) -> None:
            """Requests are not told."""

        def _answer(self) -> None:
            status, headers, body = asyncio.run(_call(application, self.command, self.path, self.headers, self._body()))
            self.send_response(status)
            for name, value in headers:
                self.send_header(name.decode(), value.decode())
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def _body(self) -> bytes:
            if self.headers.get("transfer-encoding", "").lower() != "chunked":
                return self.rfile.read(int(self.headers.get("content-length", 0)))
            body = b""
            while size := int(self.rfile.readline(), 16):
                body += self.rfile.read(size)
                self.rfile.readline()
            self.rfile.readline()
            return body

    class Server(ThreadingHTTPServer):
        daemon_threads = True
        request_queue_size = 128

        connections: ClassVar[set[Any]] = set()

        def process_request(self, request: Any, client_address: Any) -> None:
            self.connections.add(request)
            super().process_request(request, client_address)

        def close_request(self, request: Any) -> None:
            self.connections.discard(request)
            super().close_request(request)

        def hang_up(self) -> None:
            for connection in [*self.connections]:
                with suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)

        def handle_error(self, request: Any, client_address: Any) -> None:
            """Restate hangs up on an invocation that is killed: nothing to tell."""

    server = Server(("127.0.0.1", port or free_port()), Handler)
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        server.hang_up()
        thread.join()


async def _call(
    application: Any, method: str, path: str, headers: Any, body: bytes
) -> tuple[int, list[tuple[bytes, bytes]], bytes]:
    """One request to an ASGI application: the status, the headers and the body of its answer."""
    scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": method,
        "path": path,
        "raw_path": path.encode(),
        "query_string": b"",
        "headers": [(name.lower().encode(), value.encode()) for name, value in headers.items()],
    }
    incoming = [{"type": "http.request", "body": body, "more_body": False}] * 2
    status, answered, parts = 500, [], []

    async def receive() -> Any:
        if incoming:
            return incoming.pop()
        return await asyncio.Future()  # the client stays

    async def send(message: Any) -> None:
        nonlocal status, answered
        if message["type"] == "http.response.start":
            status, answered = message["status"], list(message["headers"])
        else:
            parts.append(message.get("body", b""))

    await application(scope, receive, send)
    return status, answered, b"".join(parts)
