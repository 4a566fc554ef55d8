"""Values kept in AWS Secrets Manager."""

import logging
import threading
from typing import Any

from meridian.errors import Unavailable

logger = logging.getLogger("meridian.secrets")

CURRENT, PENDING = "AWSCURRENT", "AWSPENDING"
CONNECT_TIMEOUT_SECONDS, READ_TIMEOUT_SECONDS, ATTEMPTS = 2, 3, 3


class SecretUnavailable(Unavailable):
    """Secrets Manager did not give a secret."""


class Secret:
    """The text of one secret, fetched when it is first needed and kept. Safe to share between threads.

    Raises `SecretUnavailable` when Secrets Manager cannot be reached or refuses.
    """

    def __init__(self, arn: str, client: Any = None) -> None:
        self._arn = arn
        self._made_client = client
        self._lock = threading.Lock()
        self._text: str | None = None

    def text(self) -> str:
        """The secret as it was when it was last fetched."""
        with self._lock:
            if self._text is None:
                self._text = self._fetch(CURRENT)
            return self._text

    def renewed(self) -> str:
        """The secret as it is now, for a caller whom the kept one no longer lets in."""
        with self._lock:
            self._text = self._fetch(CURRENT)
            return self._text

    def pending(self) -> str | None:
        """The version that a rotation is about to make current; None when there is none.

        A rotation sets the new password in the database first and moves the label `AWSCURRENT` afterwards: in
        between only the pending version opens the database.
        """
        from botocore.exceptions import ClientError  # noqa: PLC0415 - boto3 where it is called

        try:
            return self._value(PENDING)
        except ClientError as error:
            if error.response["Error"]["Code"] == "ResourceNotFoundException":
                return None
            raise self._unavailable(error) from None

    def _fetch(self, stage: str) -> str:
        from botocore.exceptions import BotoCoreError, ClientError  # noqa: PLC0415 - boto3 where it is called

        try:
            return self._value(stage)
        except (BotoCoreError, ClientError) as error:
            raise self._unavailable(error) from None

    def _value(self, stage: str) -> str:
        return str(self._client().get_secret_value(SecretId=self._arn, VersionStage=stage)["SecretString"])

    def _client(self) -> Any:
        if self._made_client is None:
            import boto3  # noqa: PLC0415 - boto3 where it is called
            from botocore.config import Config  # noqa: PLC0415

            config = Config(
                connect_timeout=CONNECT_TIMEOUT_SECONDS,
                read_timeout=READ_TIMEOUT_SECONDS,
                retries={"total_max_attempts": ATTEMPTS, "mode": "standard"},
            )
            self._made_client = boto3.client("secretsmanager", config=config)
        return self._made_client

    def _unavailable(self, error: Exception) -> SecretUnavailable:
        logger.warning("secret out of reach", extra={"error": type(error).__name__})
        return SecretUnavailable("The credentials of a service behind this one are out of reach.")
