"""The key of Restate's APIs, and its replacement while the function runs."""

import httpx
import pytest

from meridian.errors import RestateUnavailable
from meridian.restate.ingress import Ingress


class Key:
    """A key that is replaced by the next one each time it is renewed."""

    def __init__(self, *keys: str) -> None:
        self._keys = list(keys)
        self.renewals = 0

    def text(self) -> str:
        return self._keys[0]

    def renewed(self) -> str:
        self.renewals += 1
        if len(self._keys) > 1:
            del self._keys[0]
        return self._keys[0]


def ingress(key: Key, accepted: str, **refusal: str) -> Ingress:
    def answer(request: httpx.Request) -> httpx.Response:
        if request.headers["authorization"] == f"Bearer {accepted}":
            return httpx.Response(202, json={"invocationId": "i", "status": "Accepted"})
        return httpx.Response(401, headers={name.replace("_", "-"): value for name, value in refusal.items()})

    return Ingress("http://restate", api_key=key, transport=httpx.MockTransport(answer))


def test_refused_key_is_renewed_and_the_request_sent_once_more() -> None:
    key = Key("old\n", "new\n")
    assert ingress(key, "new").send_run("e:alert", {})
    assert key.renewals == 1


def test_key_that_is_refused_and_has_not_changed_is_not_sent_again() -> None:
    key = Key("old")
    with pytest.raises(RestateUnavailable):
        ingress(key, "another").send_run("e:alert", {})
    assert key.renewals == 1


def test_run_that_ended_with_401_says_nothing_of_the_key() -> None:
    key = Key("key", "other")
    answer = ingress(key, "other", x_restate_error_source="invocation").output("e:alert")
    assert (answer.state, answer.code) == ("failed", 401)
    assert key.renewals == 0
