"""No subject's data in what a function writes: every log line of a test is read at the level DEBUG."""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

FORMAT = logging.Formatter("%(name)s %(levelname)s %(message)s")


class _Keep(logging.Handler):
    def __init__(self) -> None:
        super().__init__(logging.DEBUG)
        self.setFormatter(FORMAT)
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        """The line with its traceback, and all that hangs on the record."""
        self.lines.append(f"{self.format(record)} {record.__dict__!r}")


@contextmanager
def all_log_lines() -> Iterator[list[str]]:
    """What is logged within, by every logger, at every level."""
    keep = _Keep()
    root, ours = logging.getLogger(), logging.getLogger("meridian")  # Powertools' logger, which has a level
    levels = [root.level, ours.level]
    heard = root if ours.propagate else ours
    for logger in {root, heard}:
        logger.addHandler(keep)
    root.setLevel(logging.DEBUG)
    ours.setLevel(logging.DEBUG)
    try:
        yield keep.lines
    finally:
        for logger in {root, heard}:
            logger.removeHandler(keep)
        root.setLevel(levels[0])
        ours.setLevel(levels[1])


class _StandardOutput:
    """Whatever is the standard output when a line is written."""

    def write(self, text: str) -> int:
        return sys.stdout.write(text)

    def flush(self) -> None:
        sys.stdout.flush()


def print_to_each_test() -> None:
    """Powertools' logger keeps the standard output that it found first, which is closed after the first test."""
    for handler in logging.getLogger("meridian").handlers:
        if isinstance(handler, logging.StreamHandler):
            handler.stream = _StandardOutput()


def lines_with(lines: Sequence[str], secrets: Sequence[str]) -> list[str]:
    """The lines in which one of `secrets` stands, as it is or escaped."""
    forms = {form for secret in secrets for form in (secret, repr(secret)[1:-1], ascii(secret)[1:-1])}
    return [line for line in lines if any(form in line for form in forms)]
