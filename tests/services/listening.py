"""Listens to every test: none may make anything log a subject's id, or a key or a value of workflow memory.

Heard are the log lines of the test's own process, what it and its children print, and at the end of the session
every log file of the processes that tests started: the functions, Restate, PostgreSQL. A test that makes something
log what holds a mark (see `tests.services.quiet`) fails.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from os import walk
from pathlib import Path
from typing import Any

import pytest

from tests.services.quiet import all_log_lines, leaks, print_to_each_test

_HEARD = pytest.StashKey[list[str]]()
DATA_OF_SERVERS = {"postgres", "restate"}  # folders without logs, and with thousands of files


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, Any, Any]:
    print_to_each_test()
    with all_log_lines() as lines:
        item.stash[_HEARD] = lines
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if report.when == "teardown":
        printed = (line for _, text in report.sections for line in text.splitlines())
        found = leaks([*item.stash[_HEARD], *printed])
        if found:
            report.outcome, report.longrepr = "failed", "\n".join(["Subject data was logged:", *found])
    return report


@pytest.fixture(scope="session", autouse=True)
def no_subject_data_in_log_files(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Set up before the servers of the session, and so torn down after them. A leak fails the session's last test."""
    yield
    found = [f"{file}: {line}" for file in log_files(tmp_path_factory.getbasetemp()) for line in leaks(lines_of(file))]
    if found:
        pytest.fail("\n".join(["Subject data is in log files:", *found[:10]]), pytrace=False)


def log_files(folder: Path) -> Iterator[Path]:
    for place, folders, files in walk(folder):
        folders[:] = [name for name in folders if name not in DATA_OF_SERVERS]
        yield from (Path(place, name) for name in files if name.endswith(".log"))


def lines_of(file: Path) -> list[str]:
    return file.read_text(errors="replace").splitlines()
