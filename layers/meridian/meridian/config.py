"""The settings of a function, read once from its environment into typed values."""

import os
from collections.abc import Mapping
from pathlib import Path

from meridian.database.opening import is_postgres_url, open_database
from meridian.errors import ConfigurationError

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

    @property
    def in_lambda(self) -> bool:
        return "AWS_LAMBDA_FUNCTION_NAME" in self._environment

    @property
    def run_db_secret_arn(self) -> str | None:
        return self.text("RUN_DB_SECRET_ARN")

    @property
    def run_db_url(self) -> str:
        """`RUN_DB_URL`, else the SQLite file of this machine, which inside Lambda would not be kept."""
        url = self.text("RUN_DB_URL")
        if url is None:
            if self.in_lambda:
                raise ConfigurationError(
                    "RUN_DB_URL or RUN_DB_SECRET_ARN is missing: the disk of a Lambda function is not kept, "
                    "so the run index needs a database."
                )
            url = DEFAULT_RUN_DB_URL
        open_database(url)  # connects on first use: here it only checks the form
        return url

    @property
    def definition_store_url(self) -> str | None:
        """The PostgreSQL database of definitions and memory, or None with a SQLite run index alone."""
        url = self.text("DEFINITION_STORE_URL")
        if url is not None:
            if not is_postgres_url(url):
                raise ConfigurationError("DEFINITION_STORE_URL must start with postgresql://.")
            return url
        return self.run_db_url if is_postgres_url(self.run_db_url) else None

    @property
    def restate_url(self) -> str:
        """The ingress without its closing slash, as the index records it."""
        return self.required_url("RESTATE_URL", "the address of Restate's ingress")

    @property
    def record_ports(self) -> tuple[str, ...]:
        """The context kinds that have a record port, from `kind` or `kind=url`, separated by commas."""
        entries = (self.text("RECORD_PORTS") or "").split(",")
        return tuple(entry.partition("=")[0].strip() for entry in entries if entry.strip())
