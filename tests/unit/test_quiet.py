"""The ears that listen to every test hear a subject's data wherever it is written, and fail the test."""

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from tests.services.quiet import leaks

ROOT = Path(__file__).resolve().parents[2]

# A session of its own, since what is planted in this one would fail it.
PLANTED = """
import logging, os, subprocess, sys
import pytest

@pytest.mark.parametrize("name", ["meridian", "meridian.memory", "somebody.else"])
@pytest.mark.parametrize("log", [
    lambda logger: logger.error("read p-zq7"),
    lambda logger: logger.error("read %s", "p-zq7"),
    lambda logger: logger.warning("written", extra={"subject": "p-zq7"}),
    lambda logger: logger.warning("written", extra={"subject": {"id": ["p-zq7\\n"]}}),
    lambda logger: logger.error("failed", exc_info=ValueError("about p-zq7")),
])
def test_logs(name, log):
    log(logging.getLogger(name))

@pytest.mark.parametrize("level", [logging.DEBUG, logging.INFO])
def test_logs_at(level):
    logging.getLogger("meridian.memory").log(level, "read p-zq7")

def test_prints():
    print("p-zq7", file=sys.stderr)

def test_has_a_child_that_prints():
    subprocess.run([sys.executable, "-c", "print('key-zq7')"], check=True)

@pytest.fixture
def loud():
    yield
    print("val-zq7")

def test_prints_at_its_end(loud):
    pass

def test_is_quiet():
    logging.getLogger("meridian.memory").info("written", extra={"version": 7})
    print("sub-zq, 3141.5")

def test_starts_what_logs(tmp_path):
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "MemoryFunction.log").write_text("quiet\\nnot quiet: p-zq7\\n")
"""


def test_what_a_test_makes_anything_write_is_heard_and_fails_it() -> None:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "test_planted.py")
        file.write_text(PLANTED)
        session = subprocess.run(
            [
                *(sys.executable, "-m", "pytest", "-p", "tests.services.listening", "-p", "no:cacheprovider", "-rA"),
                *("--basetemp", f"{folder}/temp", "--rootdir", folder, str(file)),
            ],
            cwd=ROOT,
            env={"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT)},
            capture_output=True,
            text=True,
            check=False,
        )
    errors = re.findall(r"^ERROR \S+::(\w+)", session.stdout, re.MULTILINE)
    assert set(errors) == {
        "test_logs",
        "test_logs_at",
        "test_prints",
        "test_has_a_child_that_prints",
        "test_prints_at_its_end",
        "test_starts_what_logs",
    }
    assert len(errors) == 15 + 2 + 4
    assert "MemoryFunction.log: not quiet: p-zq7" in session.stdout


@pytest.mark.parametrize("text", ["p-zq7-7", "p-42", "P-ZQ7", "sub-zq7'", "\nkey-zq7", "patient:p-42", "31415.92650"])
def test_a_mark_is_found_as_it_is_and_escaped(text: str) -> None:
    lines = [f"a {text}", f"a {text!r}", f"a {text!a}", f"a {[text]}"]
    assert leaks(lines) == lines


@pytest.mark.parametrize("line", ["", "http-42", "p-420", "step-42", "inv_1zq7", "4.31415"])
def test_another_text_is_no_mark(line: str) -> None:
    assert leaks([line]) == []
