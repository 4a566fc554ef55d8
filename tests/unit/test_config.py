"""Settings that log in to a database: what is refused at the start, by name."""

from typing import Any

import pytest
import snapshot_restore_py

from meridian.config import Settings
from meridian.database.logins import IamLogin, SecretLogin
from meridian.errors import ConfigurationError

SECRET = "arn:aws:secretsmanager:eu-west-1:123456789012:secret:meridian-a1b2c3"
HOST_URL = "postgresql://database.example:5433/meridian"
USER_URL = "postgresql://meridian@database.example/meridian"


@pytest.mark.parametrize(
    ("environment", "url", "login"),
    [
        ({"RUN_DB_SECRET_ARN": SECRET}, "postgresql://", SecretLogin),
        ({"RUN_DB_SECRET_ARN": SECRET, "RUN_DB_URL": HOST_URL}, HOST_URL, SecretLogin),
        ({"RUN_DB_IAM_AUTH": "true", "RUN_DB_URL": USER_URL}, USER_URL, IamLogin),
        ({"RUN_DB_IAM_AUTH": "false", "RUN_DB_URL": USER_URL}, USER_URL, type(None)),
    ],
)
def test_login(environment: dict[str, str], url: str, login: type) -> None:
    settings = Settings(environment)
    assert settings.run_db_url == settings.definition_store_url == settings.memory_url == url
    assert isinstance(settings.run_db_login, login)


@pytest.mark.parametrize(
    ("environment", "named"),
    [
        ({"RUN_DB_SECRET_ARN": SECRET, "RUN_DB_IAM_AUTH": "true", "RUN_DB_URL": USER_URL}, "RUN_DB_IAM_AUTH"),
        ({"RUN_DB_IAM_AUTH": "yes", "RUN_DB_URL": USER_URL}, "RUN_DB_IAM_AUTH"),
        ({"RUN_DB_IAM_AUTH": "true", "RUN_DB_URL": HOST_URL}, "RUN_DB_URL"),
        ({"RUN_DB_SECRET_ARN": SECRET, "RUN_DB_URL": "sqlite:/tmp/runs.sqlite"}, "RUN_DB_URL"),
        ({"RUN_DB_SECRET_ARN": SECRET, "RUN_DB_CA_FILE": "/no/such.pem"}, "RUN_DB_CA_FILE"),
    ],
)
def test_contradiction_stops_the_start_by_name(environment: dict[str, str], named: str) -> None:
    with pytest.raises(ConfigurationError, match=named):
        _ = Settings(environment).run_db_login


def test_in_lambda_a_connection_is_closed_around_a_snapshot(monkeypatch: pytest.MonkeyPatch) -> None:
    hooks: list[Any] = []
    monkeypatch.setattr(snapshot_restore_py, "register_before_snapshot", hooks.append)
    monkeypatch.setattr(snapshot_restore_py, "register_after_restore", hooks.append)
    settings = Settings({"RUN_DB_URL": HOST_URL, "AWS_LAMBDA_FUNCTION_NAME": "runs"})
    database = settings.open_database(HOST_URL, "RUN_DB_URL")
    assert hooks == [database.close, database.close]
