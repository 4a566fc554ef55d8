"""The ears that listen for a subject's data hear it in every place where a log line can hold it."""

import logging
from collections.abc import Callable
from typing import Any

import pytest

from tests.services.quiet import all_log_lines, lines_with


@pytest.mark.parametrize("name", ["meridian", "meridian.memory", "somebody.else"])
@pytest.mark.parametrize(
    "log",
    [
        lambda logger: logger.debug("read p-zq7"),
        lambda logger: logger.debug("read %s", "p-zq7"),
        lambda logger: logger.info("written", extra={"subject": "p-zq7"}),
        lambda logger: logger.info("written", extra={"subject": {"id": ["p-zq7\n"]}}),
        lambda logger: logger.error("failed", exc_info=ValueError("about p-zq7")),
    ],
)
def test_a_leak_is_heard_once(name: str, log: Callable[[logging.Logger], Any]) -> None:
    with all_log_lines() as lines:
        log(logging.getLogger(name))
    assert len(lines_with(lines, ["p-zq7"])) == 1


@pytest.mark.parametrize("secret", ["p'zq7", "p\nzq7", "pé zq7", "p\U0001f9ec"])
def test_a_leak_is_heard_in_its_escaped_forms(secret: str) -> None:
    lines = [f"a {secret}", f"a {secret!r}", f"a {secret!a}", f"a {[secret]}"]
    assert lines_with(lines, [secret]) == lines


def test_silence_is_silence() -> None:
    with all_log_lines() as lines:
        logging.getLogger("meridian.memory").info("written", extra={"version": 7})
    assert lines_with(lines, ["p-zq7"]) == []
