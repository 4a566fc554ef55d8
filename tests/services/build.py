"""What is deployed, built for a processor and run on this machine as on AWS."""

from __future__ import annotations

import fcntl
import os
import platform
import subprocess
import sys
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from local.model import Function
from tests.services.stack import ROOT, stack_python

RUNTIME = f"{sys.version_info.major}.{sys.version_info.minor}"
THIS_MACHINE, THE_OTHER = ("arm64", "x86_64") if platform.machine() in ("aarch64", "arm64") else ("x86_64", "arm64")
THIS_RUN = os.environ.get("PYTEST_XDIST_TESTRUNUID") or uuid.uuid4().hex
LAYER = "MeridianLayer"
TIMEOUT_SECONDS = 120.0


@contextmanager
def built(architecture: str = THIS_MACHINE) -> Iterator[Path]:
    """The folder of a build for the processor, which nobody changes until the end of the block.

    It is made from the sources once in a run of the tests, for all of its workers. The libraries that SAM loaded for
    an earlier build are used again.
    """
    work = ROOT / "build" / architecture
    work.mkdir(parents=True, exist_ok=True)
    maker = work / "maker"
    with work.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_SH)
        if not _is_made(maker):
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not _is_made(maker):
                _build(work, architecture)
                maker.write_text(THIS_RUN)
            fcntl.flock(lock, fcntl.LOCK_SH)
        yield work / ".aws-sam" / "build"


def _is_made(maker: Path) -> bool:
    return maker.is_file() and maker.read_text() == THIS_RUN


def _build(work: Path, architecture: str) -> None:
    environment = os.environ | {
        "PATH": f"{stack_python().parent}{os.pathsep}{os.environ['PATH']}",
        "RUNTIME": RUNTIME,
        "ARCHITECTURE": architecture,
        "WORK_DIR": str(work),
    }
    command = ["sh", str(ROOT / "scripts" / "build")]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def runtime_python() -> Path:
    """An interpreter that can import what AWS's runtime brings along, and nothing of this project."""
    python = ROOT / ".venvs" / f"runtime-{RUNTIME}" / "bin" / "python"
    if not python.is_file():
        raise RuntimeError(f"There is no {python}: run the tests with make test, which makes it.")
    return python


def built_functions(folder: Path, environment: Mapping[str, str]) -> dict[str, Function]:
    """The functions of a build, each with the layer and `environment`."""
    return {
        code.name: Function(
            name=code.name,
            handler="app.handler",
            code=code,
            layers=(folder / LAYER / "python",),
            environment=environment,
            timeout=TIMEOUT_SECONDS,
            memory=512,
            reserved_concurrency=None,
        )
        for code in sorted(folder.glob("*Function"))
    }
