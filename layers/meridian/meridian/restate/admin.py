"""Restate's admin API: its SQL view of invocations, and the registration of the engine."""

import logging
from collections.abc import Sequence
from typing import Any

import httpx

from meridian import jsontext
from meridian.errors import MeridianError, RestateUnavailable
from meridian.restate.authorization import ApiKey, keyed
from meridian.restate.ingress import WORKFLOW_SERVICE

logger = logging.getLogger("meridian.restate")

QUERY_TIMEOUT_SECONDS = 10.0
REGISTRATION_TIMEOUT_SECONDS = 60.0  # Restate calls the engine meanwhile, which may have to start

# An invocation whose retries are exhausted is paused, and goes on when somebody resumes it: it lives.
# The keys are one literal and a join: as a list of a thousand literals they take Restate three times as long. No run id
# of ours has the separator in it; an id that has is not found, and its row is read from the ingress like any other.
_SEPARATOR = "\n"
_LIVE_RUNS = """
SELECT target_service_key FROM sys_invocation_status
WHERE target_service_key IN (SELECT unnest(string_to_array({keys}, chr(10))))
  AND target_service_name = {service} AND target_handler_name = 'run' AND status <> 'completed'
"""


class RegistrationRefused(MeridianError):
    """Restate does not take the engine; the message is for the one who deploys."""


class Admin:
    """The admin API at `url`. Safe to share between threads."""

    def __init__(
        self, url: str, *, api_key: ApiKey | None = None, transport: httpx.BaseTransport | None = None
    ) -> None:
        self.url = url.rstrip("/")
        self._client = httpx.Client(transport=keyed(transport or httpx.HTTPTransport(trust_env=False), api_key))

    def live_runs(self, run_ids: Sequence[str], timeout: float = QUERY_TIMEOUT_SECONDS) -> set[str]:
        """Those of `run_ids` whose invocation has not ended. Raises `RestateUnavailable`."""
        keys = sql_literal(_SEPARATOR.join(run_ids))
        statement = _LIVE_RUNS.format(keys=keys, service=sql_literal(WORKFLOW_SERVICE))
        try:
            response = self._client.post(
                f"{self.url}/query",
                content=jsontext.serialize({"query": statement}).encode(),
                headers={"content-type": "application/json", "accept": "application/json"},
                timeout=min(timeout, QUERY_TIMEOUT_SECONDS),
            )
            response.raise_for_status()
            return {row["target_service_key"] for row in jsontext.parse(response.content)["rows"]}
        except (httpx.HTTPError, ValueError, KeyError, TypeError) as error:
            logger.info("no usable answer of Restate's admin API", extra={"error": type(error).__name__})
            raise RestateUnavailable("Restate's admin API is out of reach.") from None

    def register(self, arn: str, assume_role_arn: str | None = None) -> str:
        """Has new runs executed by the Lambda version `arn`; the id of the deployment, the same when repeated.

        Runs that were started before stay with the version that they began on. Restate takes `assume_role_arn` to
        call it. Raises `RegistrationRefused` with Restate's own reason, and `RestateUnavailable`.
        """
        body: dict[str, Any] = {"arn": arn, "force": True}  # a version never changes, so nothing is replaced
        if assume_role_arn is not None:
            body["assume_role_arn"] = assume_role_arn
        try:
            response = self._client.post(
                f"{self.url}/deployments",
                content=jsontext.serialize(body).encode(),
                headers={"content-type": "application/json", "accept": "application/json"},
                timeout=REGISTRATION_TIMEOUT_SECONDS,
            )
        except httpx.HTTPError as error:
            raise RestateUnavailable(
                f"Restate's admin API did not answer at {self.url} ({type(error).__name__})."
            ) from None
        try:
            answer = jsontext.parse(response.content)
            if response.is_success:
                return str(answer["id"])
            reason = str(answer["message"])
        except (ValueError, KeyError, TypeError):
            reason = "without a reason that could be read"
        raise RegistrationRefused(f"Restate refused the engine with {response.status_code}: {reason}")

    def close(self) -> None:
        self._client.close()


def sql_literal(text: str) -> str:
    """`text` as a string literal of standard SQL, where a quote is the only character with a meaning."""
    return "'" + text.replace("'", "''") + "'"
