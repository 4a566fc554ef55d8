"""The local stack as a process: what it starts, what it keeps, what it refuses and what it leaves behind."""

import json
import signal
import socket
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import psutil
import psycopg
import pytest

from local.waiting import wait_until
from tests.services.stack import RunningStack, running_stack, start_stack, wait_for_stack

TEMPLATE = ("--template", str(Path(__file__).parent / "sample" / "template.yaml"))


@pytest.fixture(scope="module")
def sample_stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningStack]:
    """The sample's stack; its settlement ticks every 300 ms."""
    with running_stack(tmp_path_factory.mktemp("stack"), *TEMPLATE, RUN_SETTLE_INTERVAL_MS="300") as running:
        yield running


def descendants(process: psutil.Process | int) -> list[psutil.Process]:
    """All that a stack has started, and what that has started."""
    return psutil.Process(process if isinstance(process, int) else process.pid).children(recursive=True)


def ended(processes: list[psutil.Process]) -> bool:
    return wait_until(lambda: not any(p.is_running() and p.status() != "zombie" for p in processes), 15)


def test_a_function_is_given_the_settings_it_declares_and_no_secret_of_aws(sample_stack: RunningStack) -> None:
    environment = httpx.post(f"{sample_stack.api}/probe/look").json()["environment"]

    assert environment == {
        "GREETING": "hello",
        "RUN_DB_URL": sample_stack.run_db_url,
        "RESTATE_URL": sample_stack.restate_ingress,
        "AWS_ACCESS_KEY_ID": "local",
    }


def test_internal_routes_answer_on_the_internal_api_alone(sample_stack: RunningStack) -> None:
    assert httpx.post(f"{sample_stack.internal_api}/internal/look").status_code == 200
    assert httpx.post(f"{sample_stack.api}/internal/look").status_code == 404
    assert httpx.post(f"{sample_stack.internal_api}/probe/look").status_code == 404


def test_the_timeout_of_the_template_is_enforced(sample_stack: RunningStack) -> None:
    begun = time.monotonic()
    answer = httpx.post(f"{sample_stack.api}/impatient/hang", timeout=30)

    assert answer.status_code == 500
    assert time.monotonic() - begun < 10


def test_schedules_tick_as_the_setting_says(sample_stack: RunningStack) -> None:
    def ticks() -> int:
        log = sample_stack.data_dir / "logs" / "SettlementFunction.log"
        return log.read_text().count("Scheduled Event") if log.exists() else 0

    assert wait_until(lambda: ticks() >= 3, 20)


def test_a_data_directory_serves_one_stack(sample_stack: RunningStack) -> None:
    second = start_stack(sample_stack.data_dir, *TEMPLATE)

    output = second.communicate(timeout=30)[0]

    assert second.returncode == 1
    assert f"Another stack is running on {sample_stack.data_dir}" in output
    assert httpx.post(f"{sample_stack.api}/probe/look").status_code == 200


def test_a_second_stack_runs_beside_the_first(sample_stack: RunningStack, tmp_path: Path) -> None:
    with running_stack(tmp_path / "second", *TEMPLATE) as second:
        assert httpx.post(f"{second.api}/probe/look").status_code == 200
        assert second.restate_ingress != sample_stack.restate_ingress
    assert httpx.post(f"{sample_stack.api}/probe/look").status_code == 200


def test_a_port_that_is_taken_is_told_before_anything_starts(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]

        process = start_stack(tmp_path, *TEMPLATE, PORT=str(port))
        output = process.communicate(timeout=30)[0]

    assert process.returncode == 1
    assert f"Port {port} cannot be used (Address already in use): set PORT to another one." in output
    assert not (tmp_path / "postgres").exists()


@pytest.mark.parametrize(
    ("setting", "value", "said"),
    [
        ("PORT", "http", "PORT must be a port number"),
        ("RUN_SETTLE_INTERVAL_MS", "1s", "RUN_SETTLE_INTERVAL_MS must be a whole number"),
        ("DATA_DIR", "/dev/null/stack", "DATA_DIR cannot be used"),
    ],
)
def test_a_setting_that_cannot_be_used_is_named(setting: str, value: str, said: str, tmp_path: Path) -> None:
    process = start_stack(tmp_path, *TEMPLATE, **{setting: value})

    output = process.communicate(timeout=30)[0]

    assert process.returncode == 1
    assert said in output
    assert "Traceback" not in output


def test_a_restart_keeps_the_data_and_restates_address(tmp_path: Path) -> None:
    with running_stack(tmp_path, *TEMPLATE) as first, psycopg.connect(first.run_db_url) as connection:
        connection.execute("create table kept (value text)")
        connection.execute("insert into kept values ('é')")

    with running_stack(tmp_path, *TEMPLATE) as second, psycopg.connect(second.run_db_url) as connection:
        assert connection.execute("select value from kept").fetchall() == [("é",)]

    assert second.restate_ingress == first.restate_ingress


def test_a_database_of_the_callers_own_is_used_in_place_of_the_stacks(postgres_url: str, tmp_path: Path) -> None:
    with running_stack(tmp_path, *TEMPLATE, RUN_DB_URL=postgres_url) as stack:
        assert stack.run_db_url == postgres_url
        assert httpx.post(f"{stack.api}/probe/look").json()["environment"]["RUN_DB_URL"] == postgres_url
        assert not (tmp_path / "postgres").exists()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_the_stack_and_all_that_it_started(number: signal.Signals, tmp_path: Path) -> None:
    with running_stack(tmp_path, *TEMPLATE) as stack:
        httpx.post(f"{stack.api}/probe/look")
        started = descendants(stack.process.pid)

        stack.process.send_signal(number)
        time.sleep(0.1)
        stack.process.send_signal(number)  # an impatient second one cuts nothing short

        assert stack.process.wait(timeout=30) == 0
        assert len(started) > 3
        assert ended(started)
        assert not (tmp_path / "stack.json").exists()


@pytest.mark.parametrize("after", [0.5, 1.5, 2.5])
def test_a_signal_during_the_start_ends_what_was_started(after: float, tmp_path: Path) -> None:
    process = start_stack(tmp_path, *TEMPLATE)
    time.sleep(after)
    started = descendants(process.pid)

    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=30)

    assert ended(started)
    assert not any(str(tmp_path) in " ".join(p.info["cmdline"] or ()) for p in psutil.process_iter(["cmdline"]))


def test_a_killed_stack_leaves_no_process_and_the_next_one_starts(tmp_path: Path) -> None:
    stack = wait_for_stack(start_stack(tmp_path, *TEMPLATE), tmp_path)
    httpx.post(f"{stack.api}/probe/look")
    started = descendants(stack.process.pid)
    with psycopg.connect(stack.run_db_url) as connection:
        connection.execute("create table kept (value text)")

    stack.process.kill()
    stack.process.communicate()

    assert ended(started)
    with running_stack(tmp_path, *TEMPLATE) as again, psycopg.connect(again.run_db_url) as connection:
        assert connection.execute("select count(*) from kept").fetchone() == (0,)


def test_a_server_that_ends_by_itself_ends_the_stack_with_a_sentence(tmp_path: Path) -> None:
    stack = wait_for_stack(start_stack(tmp_path, *TEMPLATE), tmp_path)
    restate = next(process for process in descendants(stack.process.pid) if "restate" in process.name())

    restate.kill()
    output = stack.process.communicate(timeout=30)[0]

    assert stack.process.returncode == 1
    assert "Restate has ended by itself; its log is in" in output


def test_the_stack_file_is_this_users_alone(sample_stack: RunningStack) -> None:
    file = sample_stack.data_dir / "stack.json"

    assert file.stat().st_mode & 0o777 == 0o600
    assert json.loads(file.read_text()).keys() == {
        "api",
        "internalApi",
        "restateIngress",
        "restateAdmin",
        "runDbUrl",
    }
