"""A threaded HTTP/1.1 server over the standard library, for the small servers of the stack."""

from __future__ import annotations

import sys
import threading
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler
from socketserver import TCPServer, ThreadingMixIn
from typing import Any, ClassVar

MAX_LINE = 65_536


class UnreadableBody(Exception):
    """The request's body cannot be taken; `status` is the answer, and the connection is closed after it."""

    def __init__(self, status: HTTPStatus) -> None:
        super().__init__(status.phrase)
        self.status = status


class Server(ThreadingMixIn, TCPServer):
    """Listens from its construction; who comes before `start` waits for it.

    `port` 0 takes a free one, `host` is the loopback interface unless another one is named. Raises `OSError` when the
    port is taken.
    """

    daemon_threads = True
    allow_reuse_address = True
    request_queue_size = 256

    def __init__(self, port: int = 0, host: str = "127.0.0.1") -> None:
        super().__init__((host, port), Handler)
        self.host = host
        self.port: int = self.server_address[1]
        self._thread: threading.Thread | None = None

    @property
    def url(self) -> str:
        return f"http://{self.host}:{self.port}"

    def start(self, handler: type[Handler]) -> None:
        """Serves requests with `handler`, in a thread for each connection, until `stop`."""
        self.RequestHandlerClass = handler
        self._thread = threading.Thread(target=self.serve_forever, args=(0.1,), daemon=True, name=f"server {self.port}")
        self._thread.start()

    def stop(self) -> None:
        """Stops listening; requests under way are left to end with the process."""
        if self._thread is not None:
            self.shutdown()
            self._thread = None
        self.server_close()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that went away is no error."""
        if not isinstance(sys.exception(), (ConnectionError, TimeoutError)):
            super().handle_error(request, client_address)


class Handler(BaseHTTPRequestHandler):
    """One connection. A subclass answers each request in `answer`."""

    protocol_version = "HTTP/1.1"
    wbufsize = -1  # one packet for an answer's head and body …
    disable_nagle_algorithm = True  # … sent at once: 40 ms less per request
    timeout: ClassVar[float | None] = 120  # seconds for a silent connection

    def answer(self) -> None:
        raise NotImplementedError

    def __getattr__(self, name: str) -> Any:
        """`do_GET` and whatever else the base class calls by a request's method: none is unknown to a server."""
        if name.startswith("do_"):
            return self.answer
        raise AttributeError(name)

    def reply(
        self,
        status: int,
        body: bytes = b"",
        content_type: str | None = None,
        headers: tuple[tuple[str, str], ...] = (),
    ) -> None:
        """Sends a whole answer; the body is left out for HEAD, its length is told."""
        self.send_response(status)
        if content_type is not None:
            self.send_header("Content-Type", content_type)
        for name, value in headers:
            self.send_header(name, value)
        if status != HTTPStatus.NO_CONTENT:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD" and status != HTTPStatus.NO_CONTENT:
            self.wfile.write(body)

    def body(self, limit: int) -> bytes:
        """The request's body, sent with a length or in chunks. Raises `UnreadableBody` past `limit` bytes."""
        try:
            if "chunked" in self.headers.get("Transfer-Encoding", "").lower():
                return self._chunks(limit)
            length = int(self.headers.get("Content-Length") or 0)
        except ValueError:
            raise self._unreadable(HTTPStatus.BAD_REQUEST) from None
        if length < 0:
            raise self._unreadable(HTTPStatus.BAD_REQUEST)
        if length > limit:
            raise self._unreadable(HTTPStatus.REQUEST_ENTITY_TOO_LARGE)
        return self.rfile.read(length)

    def _chunks(self, limit: int) -> bytes:
        """Raises `ValueError` for a size that is not one."""
        body = bytearray()
        while size := int(self.rfile.readline(MAX_LINE).split(b";", 1)[0], 16):
            if size < 0 or len(body) + size > limit:
                raise self._unreadable(HTTPStatus.REQUEST_ENTITY_TOO_LARGE)
            body += self.rfile.read(size)
            self.rfile.readline(MAX_LINE)
        while self.rfile.readline(MAX_LINE).strip():  # trailers
            pass
        return bytes(body)

    def _unreadable(self, status: HTTPStatus) -> UnreadableBody:
        self.close_connection = True  # what is left of the body must not be taken for the next request
        return UnreadableBody(status)

    def log_message(self, *_: Any) -> None:
        """Requests are not logged: paths and queries may name subjects."""
