"""The walk-throughs of the documentation, typed as they stand there, on a stack as `make run` starts it.

A block ```sh that calls the API is run; the block ```json behind it is what it prints, where `…` stands for anything.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest

from local.waiting import wait_until
from tests.services.stack import ROOT, running_stack

DOCUMENTED_ADDRESS = "http://127.0.0.1:3000"
PAGES = ("README.md", "docs/quick-start.md", "docs/api.md")
SECONDS = 20.0  # a run comes to rest by itself: what only reads is read again until then

BLOCK = re.compile(r"^```sh\n(.*?)^```\n\n```json\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Step:
    """A command, and what the page says that it prints."""

    command: str
    printed: str

    @property
    def only_reads(self) -> bool:
        return " -d " not in self.command

    @property
    def pattern(self) -> re.Pattern[str]:
        parts = (re.escape(part) for part in self.printed.strip().split("…"))
        return re.compile(".*".join(parts), re.DOTALL)


def steps_of(page: str) -> list[Step]:
    found = BLOCK.findall((ROOT / page).read_text())
    return [Step(command, printed) for command, printed in found if DOCUMENTED_ADDRESS in command]


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with running_stack(tmp_path_factory.mktemp("walk-throughs"), DEMO="1") as stack:
        is_shown = wait_until(lambda: httpx.get(f"{stack.api}/api/events?limit=2").text.count("eventId") >= 2, 60)
        assert is_shown, "the samples were not sent"
        yield stack.api


def typed(step: Step, api: str, folder: Path) -> str:
    """What the command prints, in a shell."""
    command = step.command.replace(DOCUMENTED_ADDRESS, api)
    shell = subprocess.run(["sh", "-euc", command], capture_output=True, cwd=folder, text=True, timeout=60, check=False)
    assert shell.returncode == 0, shell.stderr
    return shell.stdout.strip()


@pytest.mark.parametrize("page", PAGES)
def test_every_command_prints_what_the_page_says(page: str, api: str, tmp_path: Path) -> None:
    steps = steps_of(page)
    assert steps
    for step in steps:
        printed = [typed(step, api, tmp_path)]

        def is_right(step: Step = step, printed: list[str] = printed) -> bool:
            if step.pattern.fullmatch(printed[-1]) is None and step.only_reads:
                printed.append(typed(step, api, tmp_path))
            return step.pattern.fullmatch(printed[-1]) is not None

        assert wait_until(is_right, SECONDS if step.only_reads else 0, pause=0.2), f"{step.command}\n{printed[-1]}"
