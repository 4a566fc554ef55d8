"""The small rules of the local stack: rates, names, settings."""

import os
import time
from pathlib import Path

import pytest

from local.data_dir import exclusive_data_dir
from local.execution_environment import Outcome
from local.follow_ups import FollowUps, InvalidFollowUp
from local.lambda_service import name_of
from local.model import Schedule
from local.ports import KeptPorts, free_port
from local.schedules import Ticker, effective_schedules
from local.settings import InvalidSetting, read_settings
from local.terminal import without_password
from local.waiting import wait_until

SETTLEMENT = Schedule("SettlementFunction", 60, None)
EXPIRY = Schedule("ExpiryFunction", 600, None)


@pytest.mark.parametrize(
    ("identifier", "name"),
    [
        ("EngineFunction", "EngineFunction"),
        ("EngineFunction:1", "EngineFunction"),
        ("arn:aws:lambda:eu-west-1:123456789012:function:EngineFunction", "EngineFunction"),
        ("arn:aws:lambda:eu-west-1:123456789012:function:EngineFunction:7", "EngineFunction"),
        ("123456789012:function:EngineFunction", "EngineFunction"),
    ],
)
def test_a_function_is_named_by_its_name_or_arn_with_a_version_or_without(identifier: str, name: str) -> None:
    assert name_of(identifier) == name


@pytest.mark.parametrize(
    ("setting", "seconds"), [(None, [60, 600]), ("", [60, 600]), ("1500", [1.5, 600]), ("0", [600])]
)
def test_settlement_ticks_as_its_setting_says(setting: str | None, seconds: list[float]) -> None:
    environment = {} if setting is None else {"RUN_SETTLE_INTERVAL_MS": setting}

    assert [s.seconds for s in effective_schedules([SETTLEMENT, EXPIRY], environment)] == seconds


def test_a_settlement_interval_that_is_no_number_is_refused_by_name() -> None:
    with pytest.raises(ValueError, match="RUN_SETTLE_INTERVAL_MS"):
        effective_schedules([SETTLEMENT], {"RUN_SETTLE_INTERVAL_MS": "1s"})


def test_a_tick_does_not_overlap_the_one_before() -> None:
    running, most, ticks = 0, 0, 0

    def invoke(_name: str, _event: bytes) -> None:
        nonlocal running, most, ticks
        running += 1
        most, ticks = max(most, running), ticks + 1
        time.sleep(0.05)
        running -= 1

    ticker = Ticker([Schedule("F", 0.01, None)], invoke)
    begun = time.monotonic()
    ticker.start()
    assert wait_until(lambda: ticks >= 3, 20)
    ticker.stop()

    assert most == 1
    assert ticks <= (time.monotonic() - begun) / 0.05 + 1


def test_follow_ups_are_delivered_when_due_the_earlier_first() -> None:
    delivered: list[bytes] = []
    follow_ups = FollowUps(delivered.append)
    follow_ups.start()

    follow_ups.add(b'{"runIds": ["later"], "delaySeconds": 0.3}')
    follow_ups.add(b'{"runIds": ["sooner"], "delaySeconds": 0.1}')
    time.sleep(0.2)
    soon = len(delivered)
    time.sleep(0.4)
    follow_ups.stop()

    assert soon == 1
    assert [b"sooner" in event for event in delivered] == [True, False]


@pytest.mark.parametrize(
    "posted",
    [b"", b"[]", b"{}", b'{"runIds": "a"}', b'{"runIds": [1]}', b'{"runIds": [], "delaySeconds": 901}'],
)
def test_what_is_no_follow_up_is_refused(posted: bytes) -> None:
    with pytest.raises(InvalidFollowUp):
        FollowUps(print).add(posted)


def test_a_port_is_kept_from_start_to_start_and_replaced_when_it_is_taken(tmp_path: Path) -> None:
    import socket

    kept = KeptPorts(tmp_path / "ports.json").get("ingress")
    again = KeptPorts(tmp_path / "ports.json").get("ingress")
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", kept))
        other = KeptPorts(tmp_path / "ports.json").get("ingress")

    assert again == kept
    assert other != kept


def test_a_free_port_can_be_listened_on() -> None:
    import socket

    with socket.socket() as server:
        server.bind(("127.0.0.1", free_port()))


@pytest.mark.parametrize("port", ["http", "65536", "-1", "3000 "])
def test_a_port_that_is_none_is_refused_by_name(port: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidSetting, match="PORT"):
        read_settings({"PORT": port}, tmp_path, tmp_path)


def test_settings_have_defaults_and_pass_on_what_functions_may_be_given(tmp_path: Path) -> None:
    template = tmp_path / "template.yaml"
    python = tmp_path / "python"
    template.touch()
    python.touch()
    environment = {"RECORD_PORTS": "patient", "LOG_LEVEL": "DEBUG", "HOME": "/nowhere", "DEMO": "0"}

    settings = read_settings(environment, template, python)

    assert settings.port == 3000
    assert settings.data_dir == Path(os.path.expanduser("~/.meridian/stack"))
    assert not settings.demo
    assert settings.environment == {"RECORD_PORTS": "patient", "LOG_LEVEL": "DEBUG"}


def test_a_failure_of_a_function_is_told_without_its_trace() -> None:
    failure = Outcome(False, b'{"errorMessage": "RUN_DB_URL must start so.", "stackTrace": ["  File"]}')
    assert failure.error_message == "RUN_DB_URL must start so."


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("postgresql://me:s3cr:et@db.example:5432/x", "postgresql://me:***@db.example:5432/x"),
        ("postgresql://me@127.0.0.1:5432/x", "postgresql://me@127.0.0.1:5432/x"),
        ("sqlite:runs.sqlite", "sqlite:runs.sqlite"),
    ],
)
def test_no_password_is_shown(url: str, shown: str) -> None:
    assert without_password(url) == shown


def test_a_directory_that_is_there_stays_as_it_is(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    with exclusive_data_dir(tmp_path), exclusive_data_dir(tmp_path / "new"):
        assert tmp_path.stat().st_mode & 0o777 == 0o755
        assert (tmp_path / "new").stat().st_mode & 0o777 == 0o700
