"""Logging in to PostgreSQL with a secret that is rotated and over TLS that is checked, as on AWS."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import boto3
import psycopg
import pytest
from moto import mock_aws

from local.postgres import PostgresServer
from meridian.config import Settings
from meridian.database import Database
from meridian.errors import DatabaseUnavailable
from meridian.secrets import SecretUnavailable
from tests.services.postgres import running_postgres
from tests.services.tls import Certificates, make_certificates, tls_before

ROLE = "rotated"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PostgresServer]:
    """A server that asks the role for its password."""
    with running_postgres(tmp_path_factory.mktemp("login")) as server:
        rules = server.directory / "pg_hba.conf"
        rules.write_text(f"host all {ROLE} 127.0.0.1/32 scram-sha-256\n{rules.read_text()}")
        with psycopg.connect(server.url(), autocommit=True) as administrator:
            administrator.execute(f"create role {ROLE} login")
            administrator.execute("select pg_reload_conf()")
        yield server


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    return make_certificates(tmp_path_factory.mktemp("certificates"), "localhost")


@dataclass
class Account:
    """The secret of the role in Secrets Manager, and the role in the database."""

    server: PostgresServer
    port: int
    client: Any
    arn: str

    def text(self, password: str) -> str:
        """The secret as RDS writes it."""
        fields = {"engine": "postgres", "host": "localhost", "port": self.port, "dbname": "meridian"}
        return json.dumps({**fields, "username": ROLE, "password": password})

    def set_in_database(self, password: str) -> None:
        with psycopg.connect(self.server.url(), autocommit=True) as administrator:
            administrator.execute(f"alter role {ROLE} password '{password}'")

    def set_in_secret(self, password: str, stage: str = "AWSCURRENT") -> None:
        self.client.put_secret_value(SecretId=self.arn, SecretString=self.text(password), VersionStages=[stage])

    def cut_sessions(self) -> None:
        with psycopg.connect(self.server.url(), autocommit=True) as administrator:
            administrator.execute(f"select pg_terminate_backend(pid) from pg_stat_activity where usename = '{ROLE}'")


@pytest.fixture
def account(server: PostgresServer, certificates: Certificates, monkeypatch: pytest.MonkeyPatch) -> Iterator[Account]:
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-west-1")
    with mock_aws(), tls_before(server.port, certificates) as port:
        client = boto3.client("secretsmanager")
        arn = client.create_secret(Name="meridian/database")["ARN"]
        account = Account(server, port, client, arn)
        account.set_in_database("first")
        account.set_in_secret("first")
        yield account


def settings_for(account: Account, certificates: Certificates, **more: str) -> Settings:
    return Settings({"RUN_DB_SECRET_ARN": account.arn, "RUN_DB_CA_FILE": str(certificates.authority), **more})


@pytest.fixture
def database(account: Account, certificates: Certificates) -> Iterator[Database]:
    settings = settings_for(account, certificates)
    database = settings.open_database(settings.run_db_url, "RUN_DB_URL")
    yield database
    database.close()


def user_of(database: Database) -> str:
    return str(database.execute("SELECT current_user")[0][0])


def test_secret_gives_host_database_user_and_password(database: Database) -> None:
    assert user_of(database) == ROLE


def test_rotation_between_two_requests_fails_neither(account: Account, database: Database) -> None:
    user_of(database)
    account.set_in_database("second")
    account.set_in_secret("second")
    account.cut_sessions()
    assert user_of(database) == ROLE


def test_password_that_is_set_before_the_secret_is_current_opens_the_database(
    account: Account, database: Database
) -> None:
    user_of(database)
    account.set_in_database("second")
    account.set_in_secret("second", stage="AWSPENDING")
    account.cut_sessions()
    assert user_of(database) == ROLE


def test_pending_password_that_is_not_set_yet_does_no_harm(account: Account, database: Database) -> None:
    account.set_in_secret("second", stage="AWSPENDING")
    assert user_of(database) == ROLE


def test_open_session_outlives_a_rotation(account: Account, database: Database) -> None:
    process = database.execute("SELECT pg_backend_pid()")
    account.set_in_database("second")
    account.set_in_secret("second")
    assert database.execute("SELECT pg_backend_pid()") == process


def test_password_that_is_wrong_everywhere_is_an_unavailable_database(account: Account, database: Database) -> None:
    account.set_in_database("another")
    with pytest.raises(DatabaseUnavailable):
        user_of(database)


def test_secret_that_cannot_be_fetched_is_unavailable(account: Account, database: Database) -> None:
    account.client.delete_secret(SecretId=account.arn, ForceDeleteWithoutRecovery=True)
    with pytest.raises(SecretUnavailable):
        user_of(database)


def test_address_of_a_proxy_comes_before_the_host_of_the_secret(account: Account, certificates: Certificates) -> None:
    text = json.loads(account.text("first")) | {"host": "database.invalid", "port": 1}
    account.client.put_secret_value(SecretId=account.arn, SecretString=json.dumps(text))
    url = f"postgresql://localhost:{account.port}/meridian"
    settings = settings_for(account, certificates, RUN_DB_URL=url)
    database = settings.open_database(settings.run_db_url, "RUN_DB_URL")
    assert user_of(database) == ROLE
    database.close()


def test_certificate_of_another_authority_is_refused(
    account: Account, certificates: Certificates, tmp_path: Path
) -> None:
    stranger = make_certificates(tmp_path, "localhost")
    settings = settings_for(account, stranger)
    with pytest.raises(DatabaseUnavailable):
        user_of(settings.open_database(settings.run_db_url, "RUN_DB_URL"))


def test_certificate_for_another_name_is_refused(account: Account, certificates: Certificates) -> None:
    url = f"postgresql://127.0.0.1:{account.port}/meridian"
    settings = settings_for(account, certificates, RUN_DB_URL=url)
    with pytest.raises(DatabaseUnavailable):
        user_of(settings.open_database(settings.run_db_url, "RUN_DB_URL"))


def test_no_named_prepared_statement_and_no_setting_is_left_in_the_session(database: Database) -> None:
    for _ in range(8):  # psycopg would prepare a statement it saw five times
        database.execute("SELECT :number::integer", {"number": 1})
    assert database.execute("SELECT count(*) FROM pg_prepared_statements") == [(0,)]
    assert database.execute("SELECT name FROM pg_settings WHERE source = 'session'") == []


def test_iam_token_is_the_password_of_the_user_in_the_url(
    account: Account, certificates: Certificates, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The database is told the token as it would be told a password: so it is set as one here."""
    token = "localhost/?Action=connect&X-Amz-Signature=0"
    asked: list[tuple[Any, ...]] = []

    class Rds:
        def generate_db_auth_token(self, *arguments: Any) -> str:
            asked.append(arguments)
            return token

    monkeypatch.setattr(boto3, "client", lambda service: {"rds": Rds()}[service])
    account.set_in_database(token)
    url = f"postgresql://{ROLE}@localhost:{account.port}/meridian"
    environment = {"RUN_DB_URL": url, "RUN_DB_IAM_AUTH": "true", "RUN_DB_CA_FILE": str(certificates.authority)}
    settings = Settings(environment)
    database = settings.open_database(settings.run_db_url, "RUN_DB_URL")
    assert user_of(database) == ROLE
    assert asked == [("localhost", account.port, ROLE)]
    database.close()
