"""The settings of the engine, read once when it starts."""

from collections.abc import Mapping
from datetime import timedelta
from typing import NamedTuple, Self

from meridian.config import Settings
from meridian.engine.memory import HttpMemoryClient, MemoryClient
from meridian.engine.record import RecordPorts
from meridian.engine.signing import SigV4Signer
from meridian.errors import ConfigurationError

ONE_DAY_SECONDS = 24 * 60 * 60


class EngineSettings(NamedTuple):
    """What the services of the engine are made of."""

    memory: MemoryClient
    record_ports: RecordPorts
    retention: timedelta  # how long Restate keeps a run after its end

    @classmethod
    def read(cls, environment: Mapping[str, str] | None = None) -> Self:
        """:raises ConfigurationError: naming the setting that is missing or malformed."""
        settings = Settings(environment)
        return cls(
            memory=_memory(settings),
            record_ports=_record_ports(settings.text("RECORD_PORTS") or ""),
            retention=timedelta(seconds=settings.whole_number("WORKFLOW_RETENTION_SECONDS", ONE_DAY_SECONDS)),
        )


def _memory(settings: Settings) -> MemoryClient:
    url = settings.required_url("API_INTERNAL_URL", "the address of the internal API, for memory nodes")
    match settings.text("API_INTERNAL_AUTH"):
        case None | "none":
            return HttpMemoryClient(url)
        case "iam":
            return HttpMemoryClient(url, SigV4Signer())
        case _:
            raise ConfigurationError("API_INTERNAL_AUTH must be iam or none.")


def _record_ports(text: str) -> RecordPorts:
    urls: dict[str, str | None] = {}
    for entry in filter(None, map(str.strip, text.split(","))):
        kind, separator, url = (part.strip() for part in entry.partition("="))
        if not kind or (separator and not url.startswith(("http://", "https://"))):
            raise ConfigurationError("RECORD_PORTS must be kinds or kind=http(s)://address, separated by commas.")
        urls[kind] = url.rstrip("/") or None
    return RecordPorts(urls)
