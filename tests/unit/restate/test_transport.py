"""The kept connections to Restate, against servers that answer, close, stay silent or break off."""

from __future__ import annotations

import re
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

import httpx
import pytest

from local.ports import free_port
from meridian.errors import RestateUnavailable
from meridian.restate.ingress import Ingress
from meridian.restate.transport import KeptConnections

OK = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\nx-restate-error-source: ingress\r\n\r\n{}"
CLOSING = b"HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 2\r\n\r\n{}"
BROKEN_OFF = b"HTTP/1.1 200 OK\r\ncontent-length: 200\r\n\r\n{"

Serve = Callable[[socket.socket, bytes], bool]


class Server:
    """A server that hands each request on a connection to `serve`, which says whether the connection goes on."""

    def __init__(self, serve: Serve) -> None:
        self._serve = serve
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        self.connections: list[socket.socket] = []
        self.requests: list[bytes] = []
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                connection, _ = self._listener.accept()
                self.connections.append(connection)
                threading.Thread(target=self._answer, args=(connection,), daemon=True).start()

    def _answer(self, connection: socket.socket) -> None:
        with suppress(OSError), connection:
            while request := _request_from(connection):
                self.requests.append(request)
                if not self._serve(connection, request):
                    return

    def close(self) -> None:
        self._listener.close()
        for connection in self.connections:
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)


def _request_from(connection: socket.socket) -> bytes:
    """A whole request, which may come in parts; nothing when the client has closed."""
    request = b""
    while received := connection.recv(65_536):
        request += received
        head, blank_line, content = request.partition(b"\r\n\r\n")
        length = re.search(rb"content-length: (\d+)", head, re.IGNORECASE)
        if not head[:1].isalpha():  # TLS
            break
        if blank_line and len(content) == (int(length[1]) if length else 0):
            break
    return request


@contextmanager
def serving(serve: Serve) -> Iterator[tuple[Server, KeptConnections]]:
    server = Server(serve)
    transport = KeptConnections(server.url)
    try:
        yield server, transport
    finally:
        transport.close()
        server.close()


def answering(answer: bytes, goes_on: bool = True) -> Serve:
    def serve(connection: socket.socket, request: bytes) -> bool:
        connection.sendall(answer)
        return goes_on

    return serve


def request_to(url: str, method: str = "GET", content: bytes | None = None, timeout: float = 5.0) -> httpx.Request:
    timeouts = {"timeout": httpx.Timeout(timeout).as_dict()}
    return httpx.Request(method, f"{url}/a%2Fb?c=d", content=content, extensions=timeouts)


def test_an_answer_comes_with_its_code_headers_and_content() -> None:
    with serving(answering(OK)) as (server, transport):
        response = transport.handle_request(request_to(server.url, "POST", b'{"a":1}'))
    assert (response.status_code, response.content) == (200, b"{}")
    assert response.headers["x-restate-error-source"] == "ingress"
    [request] = server.requests
    assert request.startswith(b"POST /a%2Fb?c=d HTTP/1.1\r\n")
    assert request.endswith(b'\r\n\r\n{"a":1}')


def test_a_connection_is_used_again() -> None:
    with serving(answering(OK)) as (server, transport):
        for _ in range(3):
            transport.handle_request(request_to(server.url))
    assert (len(server.connections), len(server.requests)) == (1, 3)


def test_a_connection_that_the_server_closes_is_replaced() -> None:
    with serving(answering(CLOSING)) as (server, transport):
        for _ in range(2):
            transport.handle_request(request_to(server.url))
    assert len(server.connections) == 2


def test_kept_connections_that_died_meanwhile_are_passed_over() -> None:
    barrier = threading.Barrier(3)

    def serve(connection: socket.socket, request: bytes) -> bool:
        if len(server.requests) <= 3:
            barrier.wait(5)  # three at once, so that three connections are kept
        connection.sendall(OK)
        return True

    with serving(serve) as (server, transport):
        threads = [threading.Thread(target=transport.handle_request, args=[request_to(server.url)]) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for connection in server.connections:
            connection.shutdown(socket.SHUT_RDWR)
        assert transport.handle_request(request_to(server.url)).status_code == 200
    assert len(server.connections) == 4


def test_a_call_survives_any_number_of_kept_connections_that_are_dead_without_a_sign_of_it() -> None:
    """As behind a gateway that forgets idle connections: it resets each when it is used."""
    barrier = threading.Barrier(3)
    kept: list[socket.socket] = []

    def serve(connection: socket.socket, request: bytes) -> bool:
        if len(server.requests) <= 3:
            barrier.wait(5)
        elif connection in kept:
            return False
        connection.sendall(OK)
        return True

    with serving(serve) as (server, transport):
        ingress = Ingress(server.url, transport=transport)
        threads = [threading.Thread(target=ingress.is_healthy) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        kept += server.connections
        assert ingress.output("obs-1:hello").state == "completed"
    assert (len(server.connections), len(server.requests)) == (4, 5)


def test_the_second_try_has_only_the_time_that_is_left() -> None:
    def serve(connection: socket.socket, request: bytes) -> bool:
        if len(server.requests) == 1:
            released.wait(0.3)
            return False
        return True  # and no answer

    released = threading.Event()
    with serving(serve) as (server, transport):
        began = time.monotonic()
        with pytest.raises(RestateUnavailable):
            Ingress(server.url, transport=transport, timeout=0.4).output("obs-1:hello")
        assert time.monotonic() - began < 0.6
    assert len(server.requests) == 2


def test_a_server_that_nobody_listens_at_is_a_connection_error() -> None:
    url = f"http://127.0.0.1:{free_port()}"
    with pytest.raises(httpx.ConnectError):
        KeptConnections(url).handle_request(request_to(url))


def test_a_server_without_tls_is_a_connection_error() -> None:
    with serving(answering(OK)) as (server, _):
        url = server.url.replace("http:", "https:")
        with pytest.raises(httpx.ConnectError):
            KeptConnections(url).handle_request(request_to(url))


def test_a_server_that_stays_silent_is_a_timeout_after_which_the_connection_is_not_used_again() -> None:
    def serve(connection: socket.socket, request: bytes) -> bool:
        if len(server.requests) > 1:
            connection.sendall(OK)
        return True

    with serving(serve) as (server, transport):
        with pytest.raises(httpx.ReadTimeout):
            transport.handle_request(request_to(server.url, timeout=0.05))
        assert transport.handle_request(request_to(server.url)).status_code == 200
    assert len(server.connections) == 2


@pytest.mark.parametrize("answer", [b"", BROKEN_OFF, b"no answer at all\r\n\r\n"], ids=["none", "broken off", "noise"])
def test_what_is_no_whole_answer_is_an_error_of_the_protocol(answer: bytes) -> None:
    with serving(answering(answer, goes_on=False)) as (server, transport), pytest.raises(httpx.RemoteProtocolError):
        transport.handle_request(request_to(server.url))


@pytest.mark.parametrize(
    "answer",
    [
        b"HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n" + OK,
        b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 102 Processing\r\n\r\n" + OK,
    ],
    ids=["103", "100 and 102"],
)
def test_what_only_announces_an_answer_is_passed_over(answer: bytes) -> None:
    with serving(answering(answer)) as (server, transport):
        for _ in range(2):
            response = transport.handle_request(request_to(server.url))
            assert (response.status_code, response.content) == (200, b"{}")
    assert len(server.connections) == 1


def test_a_header_that_is_not_ascii_is_read() -> None:
    answer = OK.replace(b"ingress", b"\xc3\xa9")
    with serving(answering(answer)) as (server, transport):
        assert transport.handle_request(request_to(server.url)).headers["x-restate-error-source"] == "é"


def test_a_chunk_of_negative_length_is_an_error_of_the_protocol() -> None:
    answer = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n-5\r\n{}\r\n0\r\n\r\n"
    with serving(answering(answer)) as (server, transport), pytest.raises(httpx.RemoteProtocolError):
        transport.handle_request(request_to(server.url))


@pytest.mark.parametrize("url", ["http://a..b", f"http://{'x' * 70}.example"])
def test_what_cannot_be_a_host_is_a_connection_error(url: str) -> None:
    with pytest.raises(httpx.ConnectError):
        KeptConnections(url).handle_request(request_to(url))


def test_an_address_of_ipv6_needs_no_port(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[str, int]] = []

    def refuse(address: tuple[str, int], *_: object) -> None:
        asked.append(address)
        raise ConnectionRefusedError

    monkeypatch.setattr(socket, "create_connection", refuse)
    for scheme in ("http", "https"):
        with pytest.raises(httpx.ConnectError):
            KeptConnections(f"{scheme}://[::1]").handle_request(request_to(f"{scheme}://[::1]"))
    assert asked == [("::1", 80), ("::1", 443)]
