"""Free TCP ports on the loopback interface."""

from __future__ import annotations

import json
import random
import socket
from pathlib import Path

# Below the range from which Linux gives ports to outgoing connections, so that none of those takes one
# between its choice here and its use.
FIRST, LAST = 20_000, 32_000


def is_free(port: int) -> bool:
    """Whether a server could listen on the port right now."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
        return True


def free_port() -> int:
    """A port that is free now. Chosen at random, so that two stacks that start at once seldom meet."""
    chooser = random.SystemRandom()
    for _ in range(1000):
        port = chooser.randint(FIRST, LAST)
        if is_free(port):
            return port
    raise RuntimeError(f"No free port was found between {FIRST} and {LAST} on 127.0.0.1.")


class KeptPorts:
    """The ports of one data directory: a name gets the same one at each start while that is free.

    Rows of the run index name the ingress that accepted their run, so Restate's should not wander.
    """

    def __init__(self, file: Path) -> None:
        self._file = file
        try:
            self._ports: dict[str, int] = dict(json.loads(file.read_text()))
        except (FileNotFoundError, ValueError):
            self._ports = {}

    def get(self, name: str) -> int:
        """The port kept under the name, or another one from now on when that is taken."""
        port = self._ports.get(name)
        if port is None or not is_free(port):
            port = self._ports[name] = free_port()
            self._file.write_text(json.dumps(self._ports))
        return port
