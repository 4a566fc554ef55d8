"""What no log line may hold, and the ears that hear every line."""

from __future__ import annotations

import logging
import re
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

# The subjects of the tests, and what the tests keep of them, hold one of these marks, which stand in nothing else
# that is written: `p-zq7-first`, `key-zq7`, 4.203141592650. The samples and the documentation know p-40 to p-49
# and the key last-potassium.
MARK = re.compile(r"[a-z]-zq7|31415\.?92650|last-potassium|(?<![a-z0-9])p-4[0-9](?![a-z0-9])", re.IGNORECASE)

FORMAT = logging.Formatter("%(name)s %(levelname)s %(message)s")


def leaks(lines: Iterable[str]) -> list[str]:
    """The lines that hold a mark."""
    return [line for line in lines if MARK.search(line)]


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
    """What is logged within: by the project at every level, by others at the level that they have."""
    keep = _Keep()
    root, ours = logging.getLogger(), logging.getLogger("meridian")  # Powertools' logger, which has a level
    level = ours.level
    heard = {root, root if ours.propagate else ours}
    for logger in heard:
        logger.addHandler(keep)
    ours.setLevel(logging.DEBUG)
    try:
        yield keep.lines
    finally:
        for logger in heard:
            logger.removeHandler(keep)
        if ours.level == logging.DEBUG:  # else Powertools came meanwhile, with a level of its own
            ours.setLevel(level)


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
