"""How a function logs in to PostgreSQL on AWS: with a secret that is rotated, or with IAM tokens.

Both check the server's certificate and name. A login is made of libpq's parameters; those that the database's URL
gives (host, port, database, `sslmode`) come before those of the login, except for user and password.
"""

import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Protocol

from meridian import jsontext
from meridian.errors import ConfigurationError
from meridian.secrets import Secret

logger = logging.getLogger("meridian.database")

Parameters = dict[str, Any]

AMAZON_ROOTS = Path(__file__).with_name("amazon-roots.pem")
"""The authorities of RDS in each region, and those of Amazon Trust Services, which RDS Proxy uses.

The file is made by scripts/database_certificates.py."""

# A secret of RDS names them so; the rest of it (engine, masterarn, …) is not for a connection.
_PARAMETERS = {"host": "host", "port": "port", "username": "user", "password": "password", "dbname": "dbname"}


class Login(Protocol):
    """What PostgreSQL is told to be let in."""

    def attempts(self) -> Iterator[Parameters]:
        """The parameters to try, the next ones only when the server refused the ones before."""
        ...


def verified_tls(ca_file: str | None) -> Parameters:
    """Nobody is told a password whose certificate and name are not those of the database."""
    return {"sslmode": "verify-full", "sslrootcert": ca_file or str(AMAZON_ROOTS)}


class SecretLogin:
    """A login kept in Secrets Manager as RDS writes it: `{"username", "password"}` and, of an instance's or a
    rotation's secret, `host`, `port` and `dbname`.

    How a rotation is survived, when it happens between two connections of this environment:

        kept version          refused: the password in the database is already the new one
        AWSCURRENT, again     tried when it changed: the rotation is over
        AWSPENDING            tried else: the rotation has set the password, and has not moved the label yet

    Sessions that are open stay so.
    """

    def __init__(self, secret: Secret, tls: Parameters) -> None:
        self._secret = secret
        self._tls = tls

    def attempts(self) -> Iterator[Parameters]:
        kept = self._secret.text()
        yield self._login(kept)
        current = self._secret.renewed()
        if current != kept:
            logger.info("the database's secret was rotated")
            yield self._login(current)
        pending = self._secret.pending()
        if pending is not None and pending != current:
            logger.info("the database's secret is being rotated")
            yield self._login(pending)

    def _login(self, text: str) -> Parameters:
        try:
            values = jsontext.parse(text)
            given = {_PARAMETERS[name]: value for name, value in values.items() if name in _PARAMETERS and value}
        except (ValueError, AttributeError):
            given = {}
        if not {"user", "password"} <= given.keys():
            raise ConfigurationError("RUN_DB_SECRET_ARN must name a secret that is JSON with username and password.")
        return {**self._tls, **given}


class IamLogin:
    """IAM authentication: the password is a token of fifteen minutes, signed anew for each connection."""

    def __init__(self, host: str, port: int, user: str, tls: Parameters) -> None:
        self._host, self._port, self._user = host, port, user
        self._tls = tls
        self._client: Any = None

    def attempts(self) -> Iterator[Parameters]:
        if self._client is None:
            import boto3  # noqa: PLC0415 - boto3 where it is called

            self._client = boto3.client("rds")
        token = self._client.generate_db_auth_token(self._host, self._port, self._user)
        yield {**self._tls, "user": self._user, "password": token}
