"""Where CloudFormation takes the answers of custom resources."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

from meridian import jsontext


class Bucket:
    """Fails `failures` times, then keeps what is put."""

    def __init__(self) -> None:
        self.url = ""
        self.answers: list[dict[str, Any]] = []
        self.content_types: list[str | None] = []
        self.failures = 0


@contextmanager
def bucket_of_answers() -> Iterator[Bucket]:
    """A bucket on the loopback interface, until the end of the block."""
    bucket = Bucket()

    class Handler(BaseHTTPRequestHandler):
        def do_PUT(self) -> None:
            content = self.rfile.read(int(self.headers["Content-Length"]))
            if bucket.failures:
                bucket.failures -= 1
                self.send_error(503)
                return
            bucket.answers.append(jsontext.parse(content))
            bucket.content_types.append(self.headers["Content-Type"])
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    bucket.url = f"http://127.0.0.1:{server.server_port}/answer?signature=0"
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield bucket
    finally:
        server.shutdown()
        server.server_close()
