"""The HTTP API of the local stack, with functions in the real runtime client."""

import socket
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.integration.local.conftest import Application

JSON = {"Content-Type": "application/json"}


def test_a_function_sees_its_layer_and_its_settings_but_no_credentials_of_this_machine(
    application: Application,
) -> None:
    answer = application.api.post("/probe/look", json={"a": 1}).json()

    assert answer["layer"] == "layered"
    assert answer["environment"] == {"GREETING": "hello", "AWS_ACCESS_KEY_ID": "local"}
    assert answer["arn"] == "arn:aws:lambda:eu-west-1:123456789012:function:Probe"
    assert 0 < answer["remaining"] <= 20_000
    assert answer["event"]["body"] == '{"a":1}'


def test_an_answer_has_its_headers_and_cookies(application: Application) -> None:
    answer = application.api.get("/probe/look")

    assert answer.headers["content-type"] == "application/json"
    assert answer.headers.get_list("set-cookie") == ["a=1", "b=2"]


def test_a_binary_answer_is_decoded(application: Application) -> None:
    answer = application.api.get("/probe/binary")

    assert answer.headers["content-type"] == "image/png"
    assert answer.content == b"\x89PNG"


def test_an_encoded_slash_stays_within_its_parameter(application: Application) -> None:
    event = application.api.get("/probe/a%2Fb?c=d%26e").json()["event"]

    assert event["pathParameters"] == {"what": "a/b"}
    assert event["queryStringParameters"] == {"c": "d&e"}


def test_a_body_that_is_not_utf8_reaches_the_function(application: Application) -> None:
    event = application.api.post("/probe/look", content=b"\xff\xfe", headers=JSON).json()["event"]

    assert (event["body"], event["isBase64Encoded"]) == ("//4=", True)


def test_a_body_in_chunks_is_put_together(application: Application) -> None:
    event = application.api.post("/probe/look", content=iter([b'{"a"', b": 1}"]), headers=JSON).json()["event"]

    assert event["body"] == '{"a": 1}'


def test_a_body_of_several_megabytes_passes_and_one_over_ten_is_refused(application: Application) -> None:
    assert application.api.post("/probe/fail", content=b"x" * 5_000_000, headers=JSON).status_code == 500
    assert application.api.post("/probe/look", content=b"x" * 10_500_000, headers=JSON).status_code == 413


def test_what_no_route_of_this_api_names_is_not_found(application: Application) -> None:
    assert application.api.head("/probe/look").status_code == 404
    assert application.api.get("/internal").status_code == 404
    assert application.api.delete("/probe/look").status_code == 404
    assert application.api.get("/").json() == {"message": "Not Found"}


def test_a_request_that_is_no_http_does_not_stop_the_server(application: Application) -> None:
    url = application.api.base_url
    with socket.create_connection((url.host, url.port or 0)) as connection:
        connection.sendall(b"nonsense\r\n\r\n")
        assert b"400" in connection.recv(1000)

    assert application.api.get("/probe/look").status_code == 200


def test_an_exception_is_a_500_that_does_not_tell_of_it(application: Application) -> None:
    answer = application.api.post("/probe/fail")

    assert (answer.status_code, answer.json()) == (500, {"message": "Internal Server Error"})
    assert "as asked" in (application.logs / "Probe.log").read_text()


def test_an_answer_that_is_no_response_is_a_500(application: Application) -> None:
    assert application.api.post("/probe/nonsense").status_code == 500


def test_an_environment_that_ends_is_replaced(application: Application) -> None:
    assert application.api.post("/probe/exit").status_code == 500
    assert application.api.post("/probe/look").status_code == 200


def test_a_timeout_is_enforced_and_the_next_request_finds_a_new_environment(application: Application) -> None:
    before = application.api.post("/impatient/look").json()["pid"]

    begun = time.monotonic()
    timed_out = application.api.post("/impatient/hang")
    took = time.monotonic() - begun

    assert timed_out.status_code == 500
    assert 0.9 < took < 3
    assert application.api.post("/impatient/look").json()["pid"] != before


def test_requests_run_at_once_in_environments_of_their_own(application: Application) -> None:
    with ThreadPoolExecutor(4) as threads:
        for _ in range(2):  # the second time the environments are there
            begun = time.monotonic()
            answers = list(threads.map(lambda _: application.api.post("/probe/half-second").json(), range(4)))
            took = time.monotonic() - begun

    assert len({answer["pid"] for answer in answers}) == 4
    assert took < 1.5


def test_an_environment_is_used_again(application: Application) -> None:
    first = application.api.get("/probe/look")
    second = application.api.get("/probe/look")

    assert first.json()["pid"] == second.json()["pid"]
    assert int(second.headers["x-invocations"]) == int(first.headers["x-invocations"]) + 1


@pytest.mark.parametrize("method", ["TRACE", "PROPFIND"])
def test_a_method_that_no_route_names_is_not_found(application: Application, method: str) -> None:
    answer = application.api.request(method, "/probe/look")

    assert answer.status_code == 404
    assert answer.json() == {"message": "Not Found"}
