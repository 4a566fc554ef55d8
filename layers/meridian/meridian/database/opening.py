"""From a database URL to a database."""

from meridian.database.database import Database
from meridian.errors import ConfigurationError

POSTGRES_SCHEMES = ("postgres://", "postgresql://")
SQLITE_SCHEME = "sqlite:"


def is_postgres_url(url: str) -> bool:
    return url.startswith(POSTGRES_SCHEMES)


def open_database(url: str, setting: str = "RUN_DB_URL") -> Database:
    """The database at `url`: `postgresql://…` or `sqlite:PATH`. Connects on first use.

    Only the backend that the URL asks for is imported. Raises `ConfigurationError` naming `setting`.
    """
    if is_postgres_url(url):
        from meridian.database.postgres import PostgresDatabase  # noqa: PLC0415

        return PostgresDatabase(url)
    if url.startswith(SQLITE_SCHEME) and len(url) > len(SQLITE_SCHEME):
        from meridian.database.sqlite import SqliteDatabase  # noqa: PLC0415

        return SqliteDatabase(url.removeprefix(SQLITE_SCHEME))
    raise ConfigurationError(f"{setting} must start with postgresql:// or sqlite:")
