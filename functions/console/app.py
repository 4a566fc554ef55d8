"""The console: the page for people, its files, and how it signs in."""

from functools import cache
from pathlib import Path
from typing import Any

from meridian.config import Settings
from meridian.console.assets import Assets
from meridian.console.service import Console
from meridian.console.settings import identity_origins, sign_in
from meridian.observability import observed

settings = Settings()
signing_in, origins = sign_in(settings), identity_origins(settings)


@cache
def console() -> Console:
    """Made by the first request: reading the files is no part of the start."""
    return Console(Assets(Path(__file__).parent / "static"), signing_in, origins)


@observed
def handler(event: dict[str, Any], _context: object) -> dict[str, Any]:
    return console().answer(event["rawPath"], event.get("headers", {}))
