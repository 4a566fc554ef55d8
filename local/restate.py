"""A Restate server of one's own, from the npm package that carries its binary."""

from __future__ import annotations

import os
import platform
import signal
import subprocess
from collections.abc import Mapping
from pathlib import Path

import httpx

from local.processes import end, last_lines, spawn
from local.waiting import wait_until

NODE_MODULES = Path(__file__).resolve().parent.parent / "node_modules"
REGION = "eu-west-1"

# One node on one small machine: the defaults are for a server of its own.
CONFIGURATION = """\
node-name = "meridian"
cluster-name = "meridian"
base-dir = {directory}
listen-mode = "tcp"
bind-address = "127.0.0.1:{node}"
advertised-address = "http://127.0.0.1:{node}/"
default-num-partitions = 4
rocksdb-total-memory-size = "256.0 MiB"
shutdown-timeout = "3s"
disable-telemetry = true
log-format = "compact"
log-disable-ansi-codes = true

[ingress]
bind-address = "{host}:{ingress}"
advertised-address = "http://{host}:{ingress}/"

[admin]
bind-address = "{host}:{admin}"
advertised-address = "http://{host}:{admin}/"

[admin.query-engine]
memory-size = "128.0 MiB"

[worker]
cleanup-interval = "{cleanup_interval}"
"""


class RestateServer:
    """One server over one base directory. `lambda_url` is where it calls functions named by an ARN.

    `host` is the address of this machine on which its ingress and its admin API listen. `cleanup_interval` is how
    often it forgets the invocations whose retention is over.
    """

    def __init__(
        self,
        directory: Path,
        log: Path,
        *,
        ingress: int,
        admin: int,
        node: int,
        lambda_url: str | None = None,
        host: str = "127.0.0.1",
        cleanup_interval: str = "1h",
    ) -> None:
        self.directory = directory
        self.ingress_url = f"http://{host}:{ingress}"
        self.admin_url = f"http://{host}:{admin}"
        self._host = host
        self._ports = {"ingress": ingress, "admin": admin, "node": node}
        self._log = log
        self._lambda_url = lambda_url
        self._cleanup_interval = cleanup_interval
        self._process: subprocess.Popen[bytes] | None = None
        # Made once, since to make one reads all certificates; without connections that outlive the server.
        self._client = httpx.Client(limits=httpx.Limits(max_keepalive_connections=0))

    def start(self, seconds: float = 60) -> None:
        """Starts the server and waits until its ingress and its admin API answer."""
        self.directory.mkdir(parents=True, exist_ok=True)
        file = self.directory.with_suffix(".toml")
        # A basic string of TOML is one of JSON, as far as a path can tell.
        quoted = '"' + str(self.directory).replace("\\", "\\\\").replace('"', '\\"') + '"'
        interval = self._cleanup_interval
        text = CONFIGURATION.format(directory=quoted, host=self._host, cleanup_interval=interval, **self._ports)
        file.write_text(text)
        self._process = spawn(
            [str(binary()), "--config-file", str(file), "--no-logo"], log=self._log, env=self._environment()
        )
        if not wait_until(lambda: self.is_ready() or not self.is_running(), seconds) or not self.is_running():
            raise RuntimeError(f"Restate did not start:\n{last_lines(self._log)}")

    def is_running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def is_ready(self) -> bool:
        """Whether the ingress and the admin API both answer that they are healthy."""
        try:
            return all(
                self._client.get(url, timeout=2).status_code == httpx.codes.OK
                for url in (f"{self.ingress_url}/restate/health", f"{self.admin_url}/health")
            )
        except httpx.TransportError:
            return False

    def register(self, deployment: Mapping[str, object]) -> None:
        """Registers an endpoint, `{"uri": …}` or `{"arn": …}`, in place of an earlier one of the same address."""
        answer = self._client.post(f"{self.admin_url}/deployments", json={**deployment, "force": True}, timeout=60)
        if answer.is_error:
            raise RuntimeError(f"Restate did not take the engine: {answer.status_code} {answer.text}")

    def stop(self) -> None:
        if self._process is not None:
            end(self._process)
            self._process = None

    def kill(self) -> None:
        """Ends the server as a power cut would; for tests of what follows."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def suspend(self) -> None:
        """Stops the process in its tracks: connections are taken and never answered; for tests."""
        if self._process is not None:
            self._process.send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        if self._process is not None:
            self._process.send_signal(signal.SIGCONT)

    def _environment(self) -> dict[str, str]:
        environment = {"PATH": os.environ.get("PATH", os.defpath), "DO_NOT_TRACK": "1", "TZ": "UTC"}
        if self._lambda_url is not None:
            environment |= {
                "AWS_ENDPOINT_URL_LAMBDA": self._lambda_url,
                "AWS_ACCESS_KEY_ID": "local",
                "AWS_SECRET_ACCESS_KEY": "local",
                "AWS_REGION": REGION,
                "AWS_EC2_METADATA_DISABLED": "true",
            }
        return environment


def binary() -> Path:
    """The server's binary for this machine, as npm installed it."""
    system = {"Linux": "linux", "Darwin": "darwin"}.get(platform.system(), platform.system().lower())
    machine = {"x86_64": "x64", "amd64": "x64", "aarch64": "arm64"}.get(platform.machine(), platform.machine())
    package = f"restate-server-{system}-{machine}"
    file = NODE_MODULES / "@restatedev" / package / "bin" / "restate-server"
    if not file.is_file():
        raise RuntimeError(f"Restate's server is not installed: there is no package {package} in node_modules.")
    return file
