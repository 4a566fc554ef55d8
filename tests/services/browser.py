"""Chromium for tests of the console: Debian's, driven by Playwright, which downloads none of its own."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from playwright.sync_api import Browser, sync_playwright

# Without these Chromium speaks to its maker at every start; as root its sandbox cannot begin.
ARGUMENTS = (
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-gpu",
    "--disable-quic",
    "--disable-sync",
    "--no-first-run",
)


def chromium() -> str:
    """The browser's path. Raises `RuntimeError` with what to do when there is none."""
    found = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
    if found is None:
        raise RuntimeError("There is no Chromium: install Debian's package chromium, or name another in CHROMIUM.")
    return found


@contextmanager
def running_browser() -> Iterator[Browser]:
    arguments = [*ARGUMENTS, *(["--no-sandbox"] if os.geteuid() == 0 else [])]
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=arguments)
        try:
            yield browser
        finally:
            browser.close()


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """The worker's browser; each test opens a context of its own."""
    with running_browser() as running:
        yield running


CONTEXT: dict[str, Any] = {
    "locale": "en-GB",
    "timezone_id": "Europe/Paris",
    "viewport": {"width": 1280, "height": 800},
    "color_scheme": "light",
    "reduced_motion": "reduce",
}
"""Of a context, unless a test is about one of them."""
