"""Restate's ingress: starting runs and reading them.

What an answer means is told by its source: an error of the run itself carries
`x-restate-error-source: invocation` and any code it likes; an answer of the ingress carries `ingress`.
"""

import logging
import threading
import time
from collections.abc import Mapping
from typing import Any, Literal, NamedTuple
from urllib.parse import quote

import httpx

from meridian import correlation, jsontext
from meridian.errors import RestateUnavailable
from meridian.restate.authorization import ApiKey, keyed
from meridian.restate.transport import KeptConnections

logger = logging.getLogger("meridian.restate")

WORKFLOW_SERVICE = "meridianWorkflow"
RECORD_SERVICE = "record"
INGRESS_TIMEOUT_SECONDS = 30.0  # Restate answers `getRun` only once the endpoint is reachable
HEALTH_TIMEOUT_SECONDS = 2.0
FIXED_HEADERS = {"accept": "*/*", "user-agent": "meridian"}

_NOT_READY = 470
_NOT_FOUND = 404
_SERVER_ERROR = 500


class OutputAnswer(NamedTuple):
    """What the ingress says of a run's invocation.

    `live`: it has not ended. `unknown`: this Restate has no such invocation. `completed`: it ended well.
    `failed`: it ended in an error, whose `code` and `message` are its own.
    """

    state: Literal["live", "unknown", "completed", "failed"]
    code: int | None = None
    message: str = ""


class SignalAnswer(NamedTuple):
    """What the engine says of a signal: whether it took it, and else why not.

    `reason`: `not_pending`, `unknown_outcome` or `already_decided`.
    """

    accepted: bool
    reason: str | None = None


class Ingress:
    """One Restate ingress. Safe to share between threads; keeps its connections open.

    Every call may be repeated without a second effect, so one whose kept connection turns out to be dead is
    repeated once on a new one, in the time that is left. Raises `RestateUnavailable` when there is no usable answer.

    Requests go to a transport and not through httpx's client: no redirect, cookie or proxy is wanted here.
    """

    def __init__(
        self,
        url: str,
        *,
        api_key: ApiKey | None = None,
        timeout: float = INGRESS_TIMEOUT_SECONDS,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        self.url = url.rstrip("/")
        self._timeout = timeout
        self._api_key = api_key
        self._given_transport = transport
        self._lock = threading.Lock()
        self._transport_in_use: httpx.BaseTransport | None = None

    def send_run(self, run_id: str, run_input: Mapping[str, Any], timeout: float | None = None) -> bool:
        """Starts a run; false when Restate has accepted its key before. Restate runs a key once."""
        answer = self._accepted(f"/{WORKFLOW_SERVICE}/{_segment(run_id)}/run/send", run_input, timeout=timeout)
        return answer.get("status") == "Accepted"

    def get_run(self, run_id: str, timeout: float | None = None) -> Any:
        """The snapshot of a run: an empty one for a run that this Restate does not know."""
        return self._call(run_id, "getRun", timeout=timeout)

    def get_start(self, run_id: str, timeout: float | None = None) -> Any | None:
        """What the run was started with, or None while its first attempt has not begun."""
        return self._call(run_id, "getStart", timeout=timeout)

    def decide(self, run_id: str, decision: Mapping[str, Any], timeout: float | None = None) -> SignalAnswer:
        """Hands a decision to a run. Restate accepts one for a run that was killed, too, and nothing follows."""
        return _signal_answer(self._call(run_id, "decide", decision, timeout))

    def resume(self, run_id: str, resumption: Mapping[str, Any], timeout: float | None = None) -> SignalAnswer:
        """Hands a run what its wait node waits for; accepted for a run that was killed, too."""
        return _signal_answer(self._call(run_id, "resume", resumption, timeout))

    def send_closure(self, message: Mapping[str, Any], idempotency_key: str, timeout: float | None = None) -> None:
        """Has the record service close a validation request; a repeated key is discarded by Restate."""
        path = f"/{RECORD_SERVICE}/closeValidationRequest/send"
        self._accepted(path, message, {"idempotency-key": idempotency_key}, timeout)

    def output(self, run_id: str, timeout: float | None = None) -> OutputAnswer:
        """Whether the run's invocation has ended, and how."""
        path = f"/restate/workflow/{WORKFLOW_SERVICE}/{_segment(run_id)}/output"
        response = self._request("GET", path, timeout=timeout)
        if response.is_success:
            return OutputAnswer("completed")
        if response.headers.get("x-restate-error-source") == "invocation":
            return OutputAnswer("failed", response.status_code, _message(response))
        if response.status_code == _NOT_READY:
            return OutputAnswer("live")
        if response.status_code == _NOT_FOUND:
            return OutputAnswer("unknown")
        raise self._unusable(response)

    def is_healthy(self) -> bool:
        """Whether the ingress answers."""
        try:
            return self._request("GET", "/restate/health", timeout=HEALTH_TIMEOUT_SECONDS).is_success
        except RestateUnavailable:
            return False

    def close(self) -> None:
        with self._lock:
            if self._transport_in_use is not None:
                self._transport_in_use.close()
                self._transport_in_use = None

    def _call(self, run_id: str, handler: str, body: Any = None, timeout: float | None = None) -> Any:
        """The answer of a shared handler of a run."""
        path = f"/{WORKFLOW_SERVICE}/{_segment(run_id)}/{handler}"
        response = self._request("POST", path, body, timeout=timeout)
        if not response.is_success:
            raise self._unusable(response)
        return _json(response)

    def _accepted(
        self, path: str, body: Any, headers: Mapping[str, str] | None = None, timeout: float | None = None
    ) -> Mapping[str, Any]:
        response = self._request("POST", path, body, headers=headers, timeout=timeout)
        if not response.is_success:
            raise self._unusable(response)
        answer = _json(response)
        if not isinstance(answer, Mapping):
            raise self._unusable(response)
        return answer

    def _request(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        headers: Mapping[str, str] | None = None,
        timeout: float | None = None,
    ) -> httpx.Response:
        content = None if body is None else jsontext.serialize(body).encode()
        request = httpx.Request(
            method,
            self.url + path,
            headers={**FIXED_HEADERS, **correlation.headers(), **(headers or {})},
            content=content,
        )
        if content is not None:
            request.headers["content-type"] = "application/json"
        seconds = self._timeout if timeout is None else timeout
        deadline = time.monotonic() + seconds
        try:
            try:
                return self._sent(request, seconds)
            except (httpx.RemoteProtocolError, httpx.ReadError, httpx.WriteError):
                remaining = deadline - time.monotonic()
                if remaining <= 0:
                    raise
                return self._sent(request, remaining)
        except httpx.HTTPError as error:
            logger.info("no answer of Restate", extra={"error": type(error).__name__, "restate": self.url})
            raise RestateUnavailable("Restate is out of reach.") from None

    def _sent(self, request: httpx.Request, seconds: float) -> httpx.Response:
        """The answer, read to its end."""
        request.extensions["timeout"] = httpx.Timeout(seconds).as_dict()
        response = self._transport().handle_request(request)
        try:
            response.read()
        finally:
            response.close()
        return response

    def _transport(self) -> httpx.BaseTransport:
        with self._lock:
            if self._transport_in_use is None:
                self._transport_in_use = keyed(self._given_transport or KeptConnections(self.url), self._api_key)
            return self._transport_in_use

    def _unusable(self, response: httpx.Response) -> RestateUnavailable:
        """An answer that says nothing about the run: no deployment registered, a refused key, a broken proxy."""
        logger.warning("unusable answer of Restate", extra={"code": response.status_code, "restate": self.url})
        if response.status_code == _NOT_FOUND:
            return RestateUnavailable("Restate has no engine registered.")
        if response.status_code >= _SERVER_ERROR:
            return RestateUnavailable("Restate could not answer.")
        return RestateUnavailable("Restate refused the request.")


def _segment(key: str) -> str:
    """A key as one segment of a path."""
    return quote(key, safe=":")


def _json(response: httpx.Response) -> Any:
    try:
        return jsontext.parse(response.content) if response.content else None
    except ValueError:
        raise RestateUnavailable("Restate's answer could not be read.") from None


def _signal_answer(answer: Any) -> SignalAnswer:
    if not isinstance(answer, Mapping) or not isinstance(answer.get("accepted"), bool):
        raise RestateUnavailable("Restate's answer could not be read.")
    reason = answer.get("reason")
    return SignalAnswer(answer["accepted"], reason if isinstance(reason, str) else None)


def _message(response: httpx.Response) -> str:
    """The message of a failed invocation."""
    try:
        answer = jsontext.parse(response.content)
    except ValueError:
        return response.text
    message = answer.get("message") if isinstance(answer, Mapping) else answer
    return message if isinstance(message, str) else ""
