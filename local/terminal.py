"""What a person sees of the stack: short lines, coloured on a terminal, plain elsewhere."""

from __future__ import annotations

import os
import re
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

BOLD, DIM, RED, GREEN, YELLOW = "1", "2", "31", "32", "33"


class Terminal:
    """Writes to standard output. On a terminal a step under way is shown until it is done."""

    def __init__(self) -> None:
        self._is_terminal = sys.stdout.isatty()
        self._coloured = self._is_terminal and "NO_COLOR" not in os.environ

    def say(self, text: str = "") -> None:
        print(text, flush=True)

    def error(self, text: str) -> None:
        print(text, file=sys.stderr, flush=True)

    def style(self, text: str, code: str) -> str:
        return f"\033[{code}m{text}\033[0m" if self._coloured else text

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        """One step of the start: shown while it lasts, ticked with its time when it is done."""
        begun = time.monotonic()
        if self._is_terminal:
            print(f"  {self.style('…', DIM)} {name}", end="", flush=True)
        try:
            yield
        except BaseException:
            self._replace(f"  {self.style('✗', RED)} {name}")
            raise
        self._replace(f"  {self.style('✓', GREEN)} {name:<15}{self.style(f'{time.monotonic() - begun:5.1f} s', DIM)}")

    def _replace(self, text: str) -> None:
        print(f"\r\033[K{text}" if self._is_terminal else text, flush=True)


def without_password(url: str) -> str:
    """The address as it may stand on a screen."""
    return re.sub(r"(//[^:/@]*):[^@]*@", r"\1:***@", url)
