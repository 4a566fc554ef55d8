"""The engine's client of workflow memory, when the network fails it."""

import socket
import threading

import pytest

from local.ports import free_port
from meridian.engine.memory import HttpMemoryClient
from tests.services.answering import answering
from tests.services.coroutines import answer_to

AT_ONCE = (0.0,) * 4


def test_nobody_listens() -> None:
    client = HttpMemoryClient(f"http://127.0.0.1:{free_port()}", delays=AT_ONCE)
    assert answer_to(client.write({}))["failed"] == "workflow memory is out of reach"


@pytest.mark.parametrize("status", [429, 500, 503])
def test_what_passes_is_tried_again(status: int) -> None:
    with answering([status, 200], {"version": 3}) as (url, asked):
        answer = answer_to(HttpMemoryClient(url, delays=AT_ONCE).read({}))
    assert (answer["status"], answer["body"]) == (200, {"version": 3})
    assert len(asked) == 2


@pytest.mark.parametrize("status", [400, 403, 409])
def test_what_will_not_pass_is_an_answer(status: int) -> None:
    with answering([status, 200], {"detail": "no"}) as (url, asked):
        assert answer_to(HttpMemoryClient(url, delays=AT_ONCE).read({}))["status"] == status
    assert len(asked) == 1


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
