"""Where the servers listen that functions call, and by which name the functions reach them."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import urlsplit

LOOPBACK = "127.0.0.1"


@dataclass(frozen=True)
class Network:
    """Functions that run beside the servers reach them on the loopback interface; functions in containers do not."""

    address: str = LOOPBACK  # of this machine; the servers listen on it
    name: str = LOOPBACK  # what functions call it
    subnet: str | None = None  # from which functions come, where that is not this machine

    def seen(self, url: str) -> str:
        """The URL of a server on this machine as a function calls it; another URL as it is."""
        parts = urlsplit(url)
        if self.name == LOOPBACK or parts.hostname not in (LOOPBACK, "localhost", self.address):
            return url
        user, at, _ = parts.netloc.rpartition("@")
        port = f":{parts.port}" if parts.port else ""
        return parts._replace(netloc=f"{user}{at}{self.name}{port}").geturl()
