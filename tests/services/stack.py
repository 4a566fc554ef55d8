"""The whole local stack for tests, as a process of its own: what `make run` starts."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psycopg
import pytest

from local.waiting import wait_until
from tests.services.quiet import leaks

ROOT = Path(__file__).resolve().parents[2]
START_SECONDS = 90


@dataclass(frozen=True)
class RunningStack:
    """A stack that serves: the addresses of its `stack.json`, and its process."""

    api: str
    internal_api: str
    restate_ingress: str
    restate_admin: str
    run_db_url: str
    data_dir: Path
    process: subprocess.Popen[str]

    def log(self, function: str) -> str:
        """What a function has written, for instance `RunsFunction`."""
        return (self.data_dir / "logs" / f"{function}.log").read_text()


def stack_python() -> Path:
    """The interpreter of the environment that runs the stack, beside the one that runs the tests."""
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    python = ROOT / ".venvs" / f"stack-{version}" / "bin" / "python"
    if not python.is_file():
        raise RuntimeError(f"There is no {python}: run the tests with make test, which makes it.")
    return python


def start_stack(data_dir: Path, *arguments: str, **environment: str) -> subprocess.Popen[str]:
    """Starts a stack without waiting for it, on free ports, without sample data unless `DEMO="1"` is given."""
    inherited = {name: os.environ[name] for name in ("PATH", "HOME", "LANG", "TMPDIR") if name in os.environ}
    return subprocess.Popen(
        [str(stack_python()), "-m", "local", *arguments],
        cwd=ROOT,
        env=inherited | {"PORT": "0", "DEMO": "0", "LOG_LEVEL": "DEBUG", "DATA_DIR": str(data_dir)} | environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def wait_for_stack(process: subprocess.Popen[str], data_dir: Path) -> RunningStack:
    """Waits until the stack serves."""
    file = data_dir / "stack.json"
    if not wait_until(lambda: file.exists() or process.poll() is not None, START_SECONDS) or not file.exists():
        process.kill()
        raise RuntimeError(f"The stack did not start:\n{process.communicate()[0]}")
    addresses = json.loads(file.read_text())
    return RunningStack(
        api=addresses["api"],
        internal_api=addresses["internalApi"],
        restate_ingress=addresses["restateIngress"],
        restate_admin=addresses["restateAdmin"],
        run_db_url=addresses["runDbUrl"],
        data_dir=data_dir,
        process=process,
    )


@contextmanager
def running_stack(data_dir: Path, *arguments: str, **environment: str) -> Iterator[RunningStack]:
    """A stack over the data directory, for tests that restart or kill one; ended as Ctrl-C would."""
    (data_dir / "stack.json").unlink(missing_ok=True)  # of a stack that was killed
    process = start_stack(data_dir, *arguments, **environment)
    try:
        yield wait_for_stack(process, data_dir)
    finally:
        process.send_signal(signal.SIGINT)
        printed, _ = process.communicate(timeout=60)
        assert environment.get("DEMO") == "1" or leaks(printed.splitlines()) == []


@pytest.fixture(scope="session")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningStack]:
    """The worker's stack, without sample data. Tests share it: they use event ids and subjects of their own."""
    with running_stack(tmp_path_factory.mktemp("stack")) as running:
        yield running
        assert unmarked(running.run_db_url) == []


UNMARKED = """
SELECT subject_id FROM run_subjects UNION SELECT subject_id FROM workflow_memory WHERE subject_id <> ''
UNION SELECT key FROM workflow_memory
"""


def unmarked(database_url: str) -> list[str]:
    """The subjects and keys that tests left behind without a mark: who listens could not hear them in a log line."""
    with psycopg.connect(database_url) as connection:
        return [name for (name,) in connection.execute(UNMARKED) if not leaks([name])]
