"""What is asked of a Docker engine beside what SAM CLI asks of it, through the `docker` command.

As a program, `python -m local.docker`, it fails with one sentence when no engine answers.
"""

from __future__ import annotations

import json
import platform
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from ipaddress import ip_network

from local.network import LOOPBACK, Network
from local.settings import InvalidSetting

IMAGES = "public.ecr.aws/lambda/python"
HOST_NAME = "host.docker.internal"
"""What containers call this machine; Docker gives it the address of the bridge, or of Docker Desktop's gateway."""

PULL_SECONDS, ANSWER_SECONDS = 1_800, 20


def architecture() -> str:
    """This machine's, by the name that Lambda has for it."""
    return "arm64" if platform.machine() in ("aarch64", "arm64") else "x86_64"


def base_image(runtime: str) -> str:
    """AWS's image for functions of a Python, such as 3.13, as SAM CLI asks for it."""
    return f"{IMAGES}:{runtime}-{architecture()}"


def engine_problem() -> str | None:
    """Why no Docker engine can be used, in one sentence; None when one answers."""
    if shutil.which("docker") is None:
        return "No Docker engine answers: there is no command docker on PATH."
    done = _docker("version", "--format", "{{.Server.Version}}")
    return None if done.returncode == 0 else f"No Docker engine answers: {_last_line(done.stderr)}"


def has_image(image: str) -> bool:
    return _docker("image", "inspect", image).returncode == 0


def pull(image: str) -> None:
    """Pulls an image from its registry. Raises `InvalidSetting` when it cannot be had."""
    done = _docker("pull", "--quiet", image, seconds=PULL_SECONDS)
    if done.returncode != 0:
        raise InvalidSetting(f"The image {image} cannot be pulled: {_last_line(done.stderr)}")


def bridge() -> Network:
    """The network between this machine and containers. Raises `InvalidSetting` when Docker has none."""
    done = _docker("network", "inspect", "bridge")
    if done.returncode != 0:
        raise InvalidSetting(f"Docker has no network named bridge: {_last_line(done.stderr)}")
    (described,) = json.loads(done.stdout)
    return network_of(described["IPAM"]["Config"] or [])


def network_of(ranges: Sequence[Mapping[str, str]]) -> Network:
    """The network of containers, from the ranges of addresses that Docker tells of it.

    Its gateway is an address of this machine, the range's first one where Docker does not name it, unless the engine
    runs in a machine of its own, as Docker Desktop's does: that hands what containers send on to the loopback
    interface here.
    """
    for given in ranges:
        subnet = ip_network(given["Subnet"])
        gateway = given.get("Gateway") or str(subnet[1])
        if subnet.version == 4 and is_own(gateway):
            return Network(gateway, HOST_NAME, str(subnet))
    return Network(name=HOST_NAME)


def is_own(address: str) -> bool:
    """Whether a server of this machine could listen on the address."""
    with socket.socket() as probe:
        try:
            probe.bind((address, 0))
        except OSError:
            return False
    return address != LOOPBACK


def remove_containers(ids: Iterable[str]) -> None:
    """Removes the containers that are still there."""
    ids = list(ids)
    if ids:
        _docker("rm", "--force", "--volumes", *ids)


def _docker(*arguments: str, seconds: float = ANSWER_SECONDS) -> subprocess.CompletedProcess[str]:
    command = ["docker", *arguments]
    try:
        return subprocess.run(command, capture_output=True, text=True, check=False, timeout=seconds)
    except subprocess.TimeoutExpired:
        return subprocess.CompletedProcess(command, 1, "", f"it did not answer within {seconds:.0f} s")


def _last_line(text: str) -> str:
    return (text.strip().splitlines() or ["it said nothing"])[-1]


if __name__ == "__main__":
    sys.exit(engine_problem())
