"""The call of an `http` node: tried again while it may pass, and over in time for its step to be kept."""

from __future__ import annotations

import time

import pytest

from meridian.engine.http import HttpCaller
from meridian.engine.model import HttpCall
from tests.services.answering import answering
from tests.services.coroutines import answer_to

AT_ONCE = (0.0, 0.0)


def a_call(url: str, timeout: int = 5) -> HttpCall:
    return HttpCall("POST", url, {}, None, timeout)


@pytest.mark.parametrize("status", [429, 500, 503])
def test_what_passes_is_tried_again(status: int) -> None:
    with answering([status, status, 200], {"bed": 4}) as (url, asked):
        answer = answer_to(HttpCaller(AT_ONCE).call(a_call(url)))
    assert (answer["status"], answer["body"]) == (200, {"bed": 4})
    assert len(asked) == 3


def test_three_tries_are_all() -> None:
    with answering([500] * 4, None) as (url, asked):
        answer = answer_to(HttpCaller(AT_ONCE).call(a_call(url)))
    assert answer["failed"] == "the service answered 500, 3 tries"
    assert len(asked) == 3


def test_all_tries_together_end_in_time() -> None:
    with answering([200] * 3, None, after=2.5) as (url, asked):
        began = time.monotonic()
        answer = answer_to(HttpCaller((0.1, 0.1), seconds=1.1).call(a_call(url, timeout=1)))
        assert time.monotonic() - began < 1.6
    assert answer["failed"] == "the service does not answer (Timeout), 1 try"
    assert len(asked) == 1


def test_a_second_try_has_what_is_left_of_the_time() -> None:
    with answering([200] * 3, None, after=2.5) as (url, asked):
        began = time.monotonic()
        answer = answer_to(HttpCaller((0.1, 0.1), seconds=1.6).call(a_call(url, timeout=1)))
        assert time.monotonic() - began < 1.9
    assert answer["failed"] == "the service does not answer (Timeout), 2 tries"
    assert len(asked) == 2
