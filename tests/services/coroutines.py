"""Coroutines in tests that are none themselves."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

Answer = TypeVar("Answer")


def answer_to(call: Coroutine[Any, Any, Answer]) -> Answer:
    """What a coroutine returns, run in a thread of its own: this one may have the loop of the browser's tests."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, call).result()
