"""The settings of a function, read once from its environment into typed values."""

import os
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from meridian.errors import ConfigurationError
from meridian.secrets import Secret
from meridian.snapstart import close_around_snapshot

if TYPE_CHECKING:  # the console and the engine have no database
    from meridian.database import Database
    from meridian.database.logins import Login

POSTGRES_PORT = 5432
UNNAMED_POSTGRES = "postgresql://"  # the login tells host, port and database
DEFAULT_RUN_DB_URL = f"sqlite:{Path.home()}/.meridian/runs.sqlite"


class Settings:
    """The settings, each checked when it is read. Raises `ConfigurationError` naming the setting.

    A function reads those it uses at its start, so that a wrong one stops it there and not in a request.
    """

    def __init__(self, environment: Mapping[str, str] | None = None) -> None:
        self._environment = os.environ if environment is None else environment

    def text(self, name: str) -> str | None:
        """A setting, or None when it is missing or empty."""
        return self._environment.get(name, "").strip() or None

    def required(self, name: str, purpose: str) -> str:
        value = self.text(name)
        if value is None:
            raise ConfigurationError(f"{name} is missing: it gives {purpose}.")
        return value

    def url(self, name: str) -> str | None:
        """An http(s) address without its closing slash."""
        value = self.text(name)
        if value is not None and not value.startswith(("http://", "https://")):
            raise ConfigurationError(f"{name} must start with http:// or https://.")
        return value.rstrip("/") if value is not None else None

    def required_url(self, name: str, purpose: str) -> str:
        self.required(name, purpose)
        return self.url(name) or ""

    def whole_number(self, name: str, default: int) -> int:
        """A number of at least 0."""
        value = self.text(name)
        if value is None:
            return default
        if not (value.isascii() and value.isdigit()):
            raise ConfigurationError(f"{name} must be a whole number of at least 0.")
        return int(value)

    def flag(self, name: str) -> bool:
        """`true` or `false`, which is the default."""
        value = self.text(name) or "false"
        if value not in ("true", "false"):
            raise ConfigurationError(f"{name} must be true or false.")
        return value == "true"

    @property
    def in_lambda(self) -> bool:
        return "AWS_LAMBDA_FUNCTION_NAME" in self._environment

    @property
    def run_db_url(self) -> str:
        """`RUN_DB_URL`, else what `RUN_DB_SECRET_ARN` names, else the SQLite file of this machine, which inside
        Lambda would not be kept."""
        url = self.text("RUN_DB_URL")
        if url is None and self.text("RUN_DB_SECRET_ARN") is not None:
            return UNNAMED_POSTGRES
        if url is None:
            if self.in_lambda:
                raise ConfigurationError(
                    "RUN_DB_URL or RUN_DB_SECRET_ARN is missing: the disk of a Lambda function is not kept, "
                    "so the run index needs a database."
                )
            url = DEFAULT_RUN_DB_URL
        from meridian.database import open_database  # noqa: PLC0415

        open_database(url)  # connects on first use: here it only checks the form
        return url

    @cached_property
    def run_db_login(self) -> "Login | None":
        """The login of `run_db_url`, by `RUN_DB_SECRET_ARN` or `RUN_DB_IAM_AUTH`; None when the URL holds it."""
        arn, by_token = self.text("RUN_DB_SECRET_ARN"), self.flag("RUN_DB_IAM_AUTH")
        if arn is None and not by_token:
            return None
        if arn is not None and by_token:
            raise ConfigurationError("RUN_DB_SECRET_ARN and RUN_DB_IAM_AUTH are two ways to log in: give one.")
        from meridian.database.logins import IamLogin, SecretLogin, verified_tls  # noqa: PLC0415
        from meridian.database.opening import is_postgres_url  # noqa: PLC0415

        if not is_postgres_url(self.run_db_url):
            raise ConfigurationError("RUN_DB_URL must start with postgresql:// when there is a login for it.")
        tls = verified_tls(self._ca_file)
        if arn is not None:
            return SecretLogin(Secret(arn), tls)
        from urllib.parse import urlsplit  # noqa: PLC0415

        where = urlsplit(self.text("RUN_DB_URL") or "")
        if not (where.hostname and where.username):
            raise ConfigurationError("RUN_DB_URL must name a user and a host when RUN_DB_IAM_AUTH is true.")
        return IamLogin(where.hostname, where.port or POSTGRES_PORT, where.username, tls)

    @property
    def _ca_file(self) -> str | None:
        path = self.text("RUN_DB_CA_FILE")
        if path is not None and not Path(path).is_file():
            raise ConfigurationError("RUN_DB_CA_FILE must be the path of a file of certificates in PEM.")
        return path

    def open_database(self, url: str, setting: str) -> "Database":
        """The database at `url`, with the login that belongs to it."""
        from meridian.database import open_database  # noqa: PLC0415

        database = open_database(url, setting, self.run_db_login if url == self.run_db_url else None)
        if self.in_lambda:
            close_around_snapshot(database.close)
        return database

    @property
    def definition_store_url(self) -> str | None:
        """The PostgreSQL database of definitions and memory, or None with a SQLite run index alone."""
        from meridian.database.opening import is_postgres_url  # noqa: PLC0415

        url = self.text("DEFINITION_STORE_URL")
        if url is not None:
            if not is_postgres_url(url):
                raise ConfigurationError("DEFINITION_STORE_URL must start with postgresql://.")
            return url
        return self.run_db_url if is_postgres_url(self.run_db_url) else None

    @property
    def memory_url(self) -> str | None:
        """The PostgreSQL database of workflow memory, that of the definitions; None when no setting names one."""
        if not any(map(self.text, ("DEFINITION_STORE_URL", "RUN_DB_URL", "RUN_DB_SECRET_ARN"))):
            return None
        return self.definition_store_url

    @property
    def restate_url(self) -> str:
        """The ingress without its closing slash, as the index records it."""
        return self.required_url("RESTATE_URL", "the address of Restate's ingress")

    @cached_property
    def restate_api_key(self) -> Secret | None:
        """The key for Restate's APIs, from the secret that `RESTATE_API_KEY_SECRET_ARN` names; None without."""
        arn = self.text("RESTATE_API_KEY_SECRET_ARN")
        return Secret(arn) if arn is not None else None

    @property
    def record_ports(self) -> tuple[str, ...]:
        """The context kinds that have a record port, from `kind` or `kind=url`, separated by commas."""
        entries = (self.text("RECORD_PORTS") or "").split(",")
        return tuple(entry.partition("=")[0].strip() for entry in entries if entry.strip())
