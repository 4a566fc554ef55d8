"""A way to PostgreSQL that loses answers: the statement is committed, and its client never hears of it."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Literal
from urllib.parse import urlsplit

READY = b"Z\x00\x00\x00\x05I"  # the end of the server's answer, outside of a transaction


class LossyProxy:
    """Passes everything on, but for one answer: to the next statement with the text that was named.

    Lost: both connections are closed. Held: the client waits, and `held` is set.
    """

    def __init__(self, url: str, port: int = 0) -> None:
        server = urlsplit(url)
        self._server = (str(server.hostname), int(server.port or 0))
        self._listener = socket.create_server(("127.0.0.1", port))
        self.url = url.replace(f":{server.port}/", f":{self._listener.getsockname()[1]}/")
        self.held = threading.Event()
        self.lost = 0
        self._statement: bytes | None = None
        self._fate: Literal["lose", "hold"] | None = None
        self._is_next = False
        self._sockets: list[socket.socket] = [self._listener]
        threading.Thread(target=self._accept, daemon=True).start()

    def lose_answer_to(self, statement: str) -> None:
        self._statement, self._fate = statement.encode(), "lose"

    def hold_answer_to(self, statement: str) -> None:
        self._statement, self._fate = statement.encode(), "hold"

    def close(self) -> None:
        for each in self._sockets:
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                server = socket.create_connection(self._server)
                self._sockets += [client, server]
                for pump in (self._to_server, self._to_client):
                    threading.Thread(target=pump, args=(client, server), daemon=True).start()

    def _to_server(self, client: socket.socket, server: socket.socket) -> None:
        with suppress(OSError):
            while data := client.recv(65_536):
                if self._statement is not None and self._statement in data:
                    self._statement, self._is_next = None, True
                server.sendall(data)
            server.shutdown(socket.SHUT_WR)

    def _to_client(self, client: socket.socket, server: socket.socket) -> None:
        with suppress(OSError):
            while data := server.recv(65_536):
                if not self._is_next:
                    client.sendall(data)
                elif data.endswith(READY):
                    self._keep_back(client, server)
        with suppress(OSError):
            client.shutdown(socket.SHUT_RDWR)

    def _keep_back(self, client: socket.socket, server: socket.socket) -> None:
        self._is_next = False
        if self._fate == "hold":
            self.held.set()
            return
        self.lost += 1
        for each in (client, server):
            each.shutdown(socket.SHUT_RDWR)


@contextmanager
def lossy(url: str, port: int = 0) -> Iterator[LossyProxy]:
    """A way to the database at `url`, by the given port of this machine or one that is free."""
    proxy = LossyProxy(url, port)
    try:
        yield proxy
    finally:
        proxy.close()
