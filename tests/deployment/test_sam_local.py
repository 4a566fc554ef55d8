"""`make sam-local`: what SAM CLI and Docker are told, and, where a Docker engine answers, an event in, its run out.

The one test that needs an engine says in its outcome that none answers; whatever can be known without one is tested by
the others. No test pulls an image.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from http import HTTPStatus
from pathlib import Path

import httpx
import psycopg
import pytest

from local.docker import HOST_NAME, architecture, base_image, engine_problem, has_image, network_of
from local.http_server import Handler, Server
from local.model import Function
from local.network import Network
from local.ports import free_port
from local.postgres import FAST_AND_FORGETFUL, PostgresServer, open_to
from local.sam import Build, SamFunctions, command, containers_in, environment, tells_an_error, write_variables
from local.settings import InvalidSetting, read_settings
from local.waiting import wait_until
from tests.services.build import RUNTIME, built
from tests.services.stack import RunningStack, start_stack, wait_for_stack

START_SECONDS = 600
BRIDGE = Network("172.17.0.1", HOST_NAME, "172.17.0.0/16")
HELLO = {
    "name": "Hello",
    "entries": [{"id": "greeting", "event": "greeting.sent"}],
    "start": "say",
    "nodes": [
        {"id": "say", "type": "set", "values": {"text": "join(' ', ['Hello', event.data.name])"}, "next": "keep"},
        {
            "id": "keep",
            "type": "memory.write",
            "scope": "workflow-global",
            "key": '`"last"`',
            "value": "nodes.say.output.text",
            "valueType": "string",
            "typeName": "text",
            "next": "done",
        },
        {"id": "done", "type": "end", "output": "nodes.say.output"},
    ],
}


def function(**variables: str) -> Function:
    return Function("RunsFunction", "app.handler", Path("code"), (), variables, 29.0, 512, None)


@pytest.mark.docker
@pytest.mark.timeout(900)
def test_an_event_comes_in_and_its_run_goes_out(tmp_path: Path) -> None:
    problem = engine_problem()
    if problem is not None:
        pytest.skip(f"sam local was not run. {problem}")
    if not has_image(base_image(RUNTIME)):
        pytest.skip(f"sam local was not run. The image {base_image(RUNTIME)} is not here, and tests pull none.")
    with (
        built() as build,
        sam_stack(build, tmp_path) as (stack, process),
        httpx.Client(base_url=stack.api, timeout=180) as api,
    ):
        assert api.post("/api/workflows/hello/versions", json=HELLO).status_code == 201
        event = {"eventId": "greeting-1", "type": "greeting.sent", "data": {"name": "Ada"}}
        assert api.post("/api/events", json=event).status_code == 202
        assert wait_until(lambda: api.get("/api/runs/greeting-1:hello").json()["status"] != "running", 180, 0.5)
        run = api.get("/api/runs/greeting-1:hello").json()
        remembered = api.get("/api/memory", params={"scope": "workflow-global", "workflow": "hello"}).json()

    assert run["status"] == "completed", run
    assert run["snapshot"]["trace"][-1]["output"] == {"text": "Hello Ada"}
    assert [item["value"] for item in remembered["items"]] == ["Hello Ada"]
    assert process.returncode == 0
    logs = (tmp_path / "logs" / f"sam-{name}.log" for name in ("start-api", "start-lambda"))
    containers = [found for log in logs for found in containers_in(log)]
    assert len(containers) >= 6  # five functions were called, workflow memory by both services
    assert [container for container in containers if has_container(container)] == []


@contextmanager
def sam_stack(build: Path, data_dir: Path) -> Iterator[tuple[RunningStack, subprocess.Popen[str]]]:
    """The stack over a build, once it serves; ended as a service manager would."""
    arguments = ("--sam", "--skip-pull-image", "--runtime", RUNTIME, "--template", str(build / "template.yaml"))
    docker = {name: value for name, value in os.environ.items() if name.startswith("DOCKER_")}
    process = start_stack(data_dir, *arguments, **docker)
    try:
        wait_until(lambda: (data_dir / "stack.json").exists() or process.poll() is not None, START_SECONDS)
        yield wait_for_stack(process, data_dir), process
    finally:
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=120)


def has_container(container: str) -> bool:
    return subprocess.run(["docker", "inspect", container], capture_output=True, check=False).returncode == 0


def test_without_a_docker_engine_it_says_so_and_what_to_do(tmp_path: Path) -> None:
    nowhere = f"unix://{tmp_path}/docker.sock"
    process = start_stack(tmp_path / "data", "--sam", DOCKER_HOST=nowhere)
    said = process.communicate(timeout=60)[0]

    assert process.returncode == 1
    assert said.strip().splitlines()[-2].startswith("No Docker engine answers: ")
    assert said.strip().splitlines()[-1] == "make run serves the same without Docker."
    assert not (tmp_path / "data" / "stack.json").exists()


def test_a_docker_command_that_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")

    assert engine_problem() == "No Docker engine answers: there is no command docker on PATH."


def test_sam_is_told_the_build_and_pulls_nothing() -> None:
    told = command("start-api", Build(Path("build/template.yaml"), "3.12"), Path("variables.json"), 3000)

    assert told[1:4] == ["local", "start-api", "--template-file"]
    assert "--skip-pull-image" in told
    assert told[told.index("--host") + 1] == "127.0.0.1"
    assert told[told.index("--add-host") + 1] == "host.docker.internal:host-gateway"
    assert told[told.index("--parameter-overrides") + 1 :] == [
        "Runtime=python3.12",
        f"Architecture={architecture()}",
    ]


def test_sam_gets_no_credentials_of_this_machine() -> None:
    of_caller = {"PATH": "/bin", "DOCKER_HOST": "tcp://engine", "AWS_ACCESS_KEY_ID": "AKIA", "AWS_PROFILE": "work"}

    given = environment(of_caller)

    assert given["DOCKER_HOST"] == "tcp://engine"
    assert given["AWS_ACCESS_KEY_ID"] == "local"
    assert "AWS_PROFILE" not in given


def test_the_variables_are_written_by_function_for_this_user_alone(tmp_path: Path) -> None:
    file = tmp_path / "variables.json"

    write_variables(file, [function(RUN_DB_URL="postgresql://host/db")])

    assert json.loads(file.read_text()) == {"RunsFunction": {"RUN_DB_URL": "postgresql://host/db"}}
    assert file.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    ("url", "seen"),
    [
        ("postgresql://meridian@127.0.0.1:5432/meridian", "postgresql://meridian@host.docker.internal:5432/meridian"),
        ("http://172.17.0.1:8080", "http://host.docker.internal:8080"),
        ("http://localhost/path?a=b", "http://host.docker.internal/path?a=b"),
        ("postgresql://user@database.example/meridian", "postgresql://user@database.example/meridian"),
    ],
)
def test_containers_call_this_machine_by_another_name(url: str, seen: str) -> None:
    assert BRIDGE.seen(url) == seen
    assert Network().seen(url) == url


@pytest.mark.parametrize(
    ("ranges", "network"),
    [
        ([{"Subnet": "127.0.0.0/8", "Gateway": "127.0.0.2"}], Network("127.0.0.2", HOST_NAME, "127.0.0.0/8")),
        ([{"Subnet": "127.9.0.0/16"}], Network("127.9.0.1", HOST_NAME, "127.9.0.0/16")),
        ([{"Subnet": "fd00::/64"}, {"Subnet": "127.9.0.0/16"}], Network("127.9.0.1", HOST_NAME, "127.9.0.0/16")),
        ([{"Subnet": "203.0.113.0/24"}], Network(name=HOST_NAME)),  # no address of this machine: Docker Desktop
        ([], Network(name=HOST_NAME)),
    ],
)
def test_servers_listen_where_containers_come_from(ranges: list[dict[str, str]], network: Network) -> None:
    assert network_of(ranges) == network


def test_postgresql_lets_the_containers_in_and_listens_to_nobody_else(tmp_path: Path) -> None:
    network = Network("127.0.0.2", HOST_NAME, "127.0.0.0/24")
    settings = FAST_AND_FORGETFUL | open_to(network, tmp_path / "pg_hba.conf")
    server = PostgresServer(tmp_path / "postgres", tmp_path / "postgres.log", free_port(), settings)
    server.start()
    try:
        with psycopg.connect(server.url().replace("127.0.0.1", "127.0.0.2")) as connection:
            row = connection.execute("select current_setting('listen_addresses')").fetchone()
        assert row == ("127.0.0.1,127.0.0.2",)
        with pytest.raises(psycopg.OperationalError):
            psycopg.connect(server.url().replace("127.0.0.1", "127.0.0.3"))
    finally:
        server.stop()
    assert open_to(Network(), tmp_path / "unwritten") == {}


def test_a_run_index_in_a_file_is_refused_and_the_data_are_apart_from_those_of_make_run(tmp_path: Path) -> None:
    template = tmp_path / "template.yaml"
    template.touch()

    settings = read_settings({}, template, None, in_containers=True)

    assert settings.data_dir == Path("~/.meridian/sam-local").expanduser()
    with pytest.raises(InvalidSetting, match="RUN_DB_URL"):
        read_settings({"RUN_DB_URL": "sqlite:/tmp/runs"}, template, None, in_containers=True)


def test_containers_are_found_in_a_log(tmp_path: Path) -> None:
    log = tmp_path / "sam.log"
    log.write_text(f"Mounting\nSAM_CONTAINER_ID: {'a1' * 32}\nnot SAM_CONTAINER_ID: {'b2' * 32}\n")

    assert containers_in(log) == ["a1" * 32]
    assert containers_in(tmp_path / "absent.log") == []


@pytest.fixture
def start_lambda() -> Iterator[str]:
    """Answers as `sam local start-lambda` does: a failure before the handler without the header of one."""

    class StartLambda(Handler):
        def answer(self) -> None:
            body = self.body(1000)
            if body == b'"fail"':
                self.reply(HTTPStatus.OK, b"{}", "application/json", (("X-Amz-Function-Error", "Unhandled"),))
            elif body == b'"import"':
                failure = {"errorMessage": "m", "errorType": "t", "requestId": "", "stackTrace": []}
                self.reply(HTTPStatus.OK, json.dumps(failure).encode(), "application/json")
            elif body == b'"container"':
                self.reply(HTTPStatus.INTERNAL_SERVER_ERROR, b"no container")
            else:
                self.reply(HTTPStatus.OK, self.path.encode())

    server = Server()
    server.start(StartLambda)
    yield server.url
    server.stop()


def test_functions_are_called_through_start_lambda(start_lambda: str) -> None:
    functions = SamFunctions({"RunsFunction": function()}, start_lambda)

    assert "RunsFunction" in functions
    assert functions.invoke("RunsFunction", b"{}").payload == b"/2015-03-31/functions/RunsFunction/invocations"
    assert functions.invoke("RunsFunction", b"{}").ok
    assert [functions.invoke("RunsFunction", body).ok for body in (b'"fail"', b'"import"', b'"container"')] == [
        False
    ] * 3
    functions.invoke_quietly("UnknownFunction", b"{}")
    functions.close()


def test_a_service_that_ended_is_a_failed_invocation() -> None:
    functions = SamFunctions({"RunsFunction": function()}, f"http://127.0.0.1:{free_port()}")

    outcome = functions.invoke("RunsFunction", b"{}")

    assert not outcome.ok
    assert b"start-lambda did not answer" in outcome.payload


def test_an_answer_that_names_an_error_among_other_fields_is_no_failure() -> None:
    assert tells_an_error(b'{"errorMessage": "m", "errorType": "t", "stackTrace": []}')
    assert not tells_an_error(b'{"errorMessage": "m", "errorType": "t", "statusCode": 200}')
    assert not tells_an_error(b"[]")
    assert not tells_an_error(b"no JSON")
