"""Makes the project's environments: virtual environments under `.venvs/`, npm packages, the tests' browser.

    environments.py NAME... [-- COMMAND ARG...]

Runs on a bare Python 3.11 or later. An environment is installed again only when its requirement files or
its Python changed: a stamp holding their digest is written last, so that an interrupted install is repeated.
A lock per environment keeps two of these from installing the same one at once.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VERSION = f"{sys.version_info.major}.{sys.version_info.minor}"
VENVS = ROOT / ".venvs"

REQUIREMENTS = {
    # the process that runs the stack on one machine, and `sam` itself
    "stack": ROOT / "local" / "requirements.txt",
    # what the Lambda environments of that stack import: nothing that the deployed functions do not have
    "lambda": ROOT / "local" / "requirements-lambda.txt",
    # what AWS's runtime brings along, without any of that: for what was built, whose layer holds its libraries
    "runtime": ROOT / "local" / "requirements-runtime.txt",
    # checks of the template and of the running API
    "audit": ROOT / "requirements-audit.txt",
    # tests, lint and types
    "dev": ROOT / "requirements-dev.txt",
}
# npm packages: Restate's server alone, or with the tools of the console
RESTATE, NODE = "restate", "node"
# the browser of the console's tests
CHROMIUM = "chromium"


class Missing(Exception):
    """Something that this project needs is not on this machine; the message is one sentence for a person."""


def main(arguments: Sequence[str]) -> int:
    """Makes the environments named before `--`, then becomes the command after it; 1 when something is missing."""
    names, command = list(arguments), list[str]()
    if "--" in names:
        separator = names.index("--")
        names, command = names[:separator], names[separator + 1 :]
    try:
        for name in names:
            if name in (RESTATE, NODE):
                ensure_node_modules(with_tools=name == NODE)
            elif name == CHROMIUM:
                ensure_chromium()
            else:
                ensure_venv(name)
    except Missing as missing:
        print(missing, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("\nInterrupted; what was begun is installed anew next time.", file=sys.stderr)
        return 130
    if command:
        first_bin = venv_path(names[0]) / "bin"
        os.environ["PATH"] = f"{first_bin}{os.pathsep}{os.environ['PATH']}"
        os.execvp(command[0], command)
    return 0


def venv_path(name: str) -> Path:
    """Where the environment lives: named by its purpose and its Python's version."""
    return VENVS / f"{name}-{VERSION}"


def ensure_venv(name: str) -> None:
    """Makes the virtual environment `name` unless it is there and current."""
    if name not in REQUIREMENTS:
        known = ", ".join([*REQUIREMENTS, RESTATE, NODE, CHROMIUM])
        raise Missing(f"There is no environment named {name}: only {known}.")
    target = venv_path(name)
    requirement = REQUIREMENTS[name]
    digest = digest_of([sys.version, target, *(file.read_text() for file in requirement_files(requirement))])

    stamp = target / ".complete"
    # What tests and tools run in may keep a package too many, and whoever runs in it goes on meanwhile. What the
    # functions import must not: a package that they lack on AWS would hide there.
    in_place = name in ("dev", "stack") and stamp.is_file() and works(target / "bin" / "python")

    def install() -> None:
        if not in_place:
            run_shown(name, [sys.executable, "-m", "venv", "--clear", str(target)])
        pip = [str(target / "bin" / "python"), "-m", "pip", "--disable-pip-version-check", "--no-input"]
        run_shown(name, [*pip, "install", "--no-compile", "--progress-bar", "off", "-r", str(requirement)])

    ensure(f"{name} (Python {VERSION})", stamp, VENVS / f"{target.name}.lock", digest, install)


def works(python: Path) -> bool:
    """Whether the interpreter runs: the one that a virtual environment links to may have been removed."""
    try:
        return subprocess.run([str(python), "-c", ""], check=False, capture_output=True).returncode == 0
    except OSError:
        return False


def ensure_node_modules(with_tools: bool) -> None:
    """Installs the npm packages under `node_modules/` unless they are there and current.

    Restate's server alone, or `with_tools` those of the console's tests and types too, which then serve both.
    """
    modules = ROOT / "node_modules"
    files = [(ROOT / name).read_text() for name in ("package.json", "package-lock.json")]
    whole, restate_alone = digest_of([*files, "whole"]), digest_of([*files, "restate alone"])
    stamp = modules / ".complete"
    if not with_tools and stamped(stamp, whole):
        return

    wanted = whole if with_tools else restate_alone
    npm = shutil.which("npm")
    if not stamped(stamp, wanted) and (npm is None or shutil.which("node") is None):
        raise Missing("Node.js with npm was not found on PATH: install it, Restate's server is an npm package.")

    def install() -> None:
        command = [str(npm), "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel", "http"]
        run_shown("npm", command if with_tools else [*command, "--omit=dev"])

    label = "the npm packages" if with_tools else "Restate's server"
    ensure(label, stamp, VENVS / "node_modules.lock", wanted, install)


def ensure_chromium() -> None:
    """Finds Chromium, in `CHROMIUM` or on PATH; as root on Debian its package is installed."""
    names = ("chromium", "chromium-browser")
    if os.environ.get("CHROMIUM") or any(shutil.which(name) for name in names):
        return
    apt = shutil.which("apt-get")
    if apt is None or os.geteuid() != 0:
        raise Missing("There is no Chromium: install the package chromium, or name a browser in CHROMIUM.")
    say("Installing Chromium; this is done once.")
    run_shown("chromium", [apt, "update"])
    run_shown("chromium", [apt, "install", "--yes", "--no-install-recommends", "chromium"])


def ensure(label: str, stamp: Path, lock: Path, digest: str, install: Callable[[], None]) -> None:
    """Runs `install` unless the stamp holds the digest already, and writes the stamp last."""
    if stamped(stamp, digest):
        return
    lock.parent.mkdir(parents=True, exist_ok=True)
    with exclusive(lock, label):
        if stamped(stamp, digest):
            return
        stamp.unlink(missing_ok=True)
        begun = time.monotonic()
        say(f"Installing {label}; this is done once.")
        install()
        stamp.write_text(digest)
        say(f"Installed {label} in {time.monotonic() - begun:.0f} s.")


def stamped(stamp: Path, digest: str) -> bool:
    return stamp.is_file() and stamp.read_text() == digest


def digest_of(parts: Sequence[object]) -> str:
    return hashlib.sha256("\0".join(map(str, parts)).encode()).hexdigest()


def requirement_files(file: Path) -> Iterator[Path]:
    """The requirement file and those that it names with `-r`."""
    if not file.is_file():
        raise Missing(f"The requirement file {file.relative_to(ROOT)} is missing from this checkout.")
    yield file
    for line in file.read_text().splitlines():
        if line.startswith("-r "):
            yield from requirement_files((file.parent / line[3:].strip()).resolve())


@contextmanager
def exclusive(lock: Path, label: str) -> Iterator[None]:
    """Holds the lock file; the system lets go of it when this process ends, however it ends."""
    with lock.open("w") as held:
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say(f"Waiting for another install of {label}.")
            fcntl.flock(held, fcntl.LOCK_EX)
        yield


def run_shown(name: str, command: Sequence[str]) -> None:
    """Runs an install command: on a terminal its latest line is shown in place; all of it only when it fails."""
    on_terminal = sys.stderr.isatty()
    width = shutil.get_terminal_size().columns - 1
    output: list[str] = []
    with subprocess.Popen(
        command, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        for line in process.stdout or ():
            output.append(line)
            if on_terminal and line.strip():
                print(f"\r\033[K  {name}: {line.strip()}"[:width], end="", file=sys.stderr, flush=True)
    if on_terminal:
        print("\r\033[K", end="", file=sys.stderr, flush=True)
    if process.returncode:
        sys.stderr.writelines(output)
        raise Missing(f"Installing {name} failed, see above: exit status {process.returncode}.")


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
