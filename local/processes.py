"""Child processes that end with this one."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

LAUNCHER = Path(__file__).with_name("launch.py")

# A child is tied to the thread that started it, not to the process: one thread that lives as long as
# the process starts them all.
_starter = ThreadPoolExecutor(max_workers=1, thread_name_prefix="starter")
_started: set[subprocess.Popen[bytes]] = set()


def spawn(
    command: Sequence[str],
    *,
    log: Path,
    env: Mapping[str, str],
    cwd: Path | None = None,
    ends_by: signal.Signals = signal.SIGTERM,
    unprivileged: bool = False,
) -> subprocess.Popen[bytes]:
    """Starts a command in a session of its own, its output appended to `log`.

    It is sent `ends_by` when this process ends, however that ends (on Linux). `unprivileged`: not as root.
    `command[0]` is an absolute path.
    """
    launch = [sys.executable, "-I", "-S", str(LAUNCHER)]
    if unprivileged:
        launch.append("--unprivileged")

    def start() -> subprocess.Popen[bytes]:
        with log.open("ab") as output:
            process = subprocess.Popen(
                [*launch, str(int(ends_by)), *command],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                env=dict(env),
                cwd=cwd,
                start_new_session=True,  # Ctrl-C is for the stack, which ends its children in order
            )
        _started.add(process)
        return process

    return _starter.submit(start).result()


def end(process: subprocess.Popen[bytes], by: signal.Signals = signal.SIGTERM, patience: float = 10) -> None:
    """Asks a process to end and waits, `patience` seconds at most; then kills it with all that it started."""
    if process.poll() is None:
        process.send_signal(by)
        with suppress(subprocess.TimeoutExpired):
            process.wait(patience)
    kill(process)


def kill(process: subprocess.Popen[bytes]) -> None:
    """Kills a process and the group that it leads; nothing when it has ended already and left nobody."""
    with suppress(ProcessLookupError, PermissionError):  # gone; on macOS a zombie's group is not permitted
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    _started.discard(process)


def kill_all() -> None:
    """Kills every process that was started here and not ended since, for a start that was cut short."""
    for process in tuple(_started):
        kill(process)


def last_lines(log: Path, count: int = 20) -> str:
    """The end of a log, for a message about the process that wrote it."""
    try:
        return "\n".join(log.read_text(errors="replace").splitlines()[-count:])
    except FileNotFoundError:
        return ""
