"""The engine's client of workflow memory, when the network fails it."""

import asyncio
import socket
import threading
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from local.ports import free_port
from meridian.engine.memory import HttpMemoryClient
from meridian.engine.model import Json

AT_ONCE = (0.0,) * 4


def answer_to(call: Coroutine[Any, Any, Json]) -> Json:
    """In a thread of its own: this one may have an event loop, that of the browser's tests."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, call).result()


def test_nobody_listens() -> None:
    client = HttpMemoryClient(f"http://127.0.0.1:{free_port()}", delays=AT_ONCE)
    assert answer_to(client.write({}))["failed"] == "workflow memory is out of reach"


def test_a_connection_that_breaks_off_is_tried_again_four_times_more() -> None:
    tries: list[bytes] = []

    def break_off() -> None:
        for _ in range(5):
            connection, _address = listener.accept()
            tries.append(connection.recv(65_536).partition(b" HTTP/1.1")[0])
            connection.sendall(b'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 20\r\n\r\n{"ver')
            connection.close()

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=break_off)
        thread.start()
        client = HttpMemoryClient(f"http://127.0.0.1:{listener.getsockname()[1]}", delays=AT_ONCE)
        answer = answer_to(client.read({}))
        thread.join(10)

    assert answer["failed"] == "workflow memory is out of reach"
    assert tries == [b"POST /api/internal/memory/read"] * 5
