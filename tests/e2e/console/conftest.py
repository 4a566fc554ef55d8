"""A page of the console on the running stack, and what the tests do beside it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import count
from typing import Any

import httpx
import pytest
from playwright.sync_api import Browser, Page, expect

from tests.e2e.console.actions import Actions
from tests.services.browser import CONTEXT, browser
from tests.services.stack import RunningStack

__all__ = ["browser"]

_numbers = count(1)

# A page polls every few seconds, and a function's first request starts an environment.
expect.set_options(timeout=20_000)


@pytest.fixture
def page(browser: Browser, stack: RunningStack) -> Iterator[Page]:
    """A page of a reader of English. It fails the test when a script fails or the policy is violated."""
    with browser.new_context(base_url=stack.api, **CONTEXT) as context:
        page = context.new_page()
        errors: list[str] = []
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.on("console", lambda message: errors.append(message.text) if _is_violation(message) else None)
        yield page
        assert errors == []


def _is_violation(message: Any) -> bool:
    return "Content Security Policy" in message.text or "TrustedHTML" in message.text


@pytest.fixture(scope="module")
def api(stack: RunningStack) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=stack.api, timeout=30) as client:
        yield client


@pytest.fixture(scope="module")
def actions(stack: RunningStack, api: httpx.Client) -> Actions:
    """What a source system, an author and an operator do, under names that no other module uses."""
    return Actions(stack, api, f"{next(_numbers)}-{os.getpid()}")
