"""From a database URL to a database."""

from typing import TYPE_CHECKING

from meridian.database.database import Database
from meridian.errors import ConfigurationError

if TYPE_CHECKING:
    from meridian.database.logins import Login

POSTGRES_SCHEMES = ("postgres://", "postgresql://")
SQLITE_SCHEME = "sqlite:"


def is_postgres_url(url: str) -> bool:
    return url.startswith(POSTGRES_SCHEMES)


def open_database(url: str, setting: str = "RUN_DB_URL", login: "Login | None" = None) -> Database:
    """The database at `url`: `postgresql://…` or `sqlite:PATH`. Connects on first use.

    `login` gives PostgreSQL's parameters that the URL leaves out. Only the backend that the URL asks for is
    imported. Raises `ConfigurationError` naming `setting`.
    """
    if is_postgres_url(url):
        from meridian.database.postgres import PostgresDatabase, log_in  # noqa: PLC0415

        return PostgresDatabase(url, None if login is None else lambda: log_in(url, login))
    if url.startswith(SQLITE_SCHEME) and len(url) > len(SQLITE_SCHEME):
        from meridian.database.sqlite import SqliteDatabase  # noqa: PLC0415

        return SqliteDatabase(url.removeprefix(SQLITE_SCHEME))
    raise ConfigurationError(f"{setting} must start with postgresql:// or sqlite:")
