"""The console: the page for people, its files, and how it signs in."""

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from meridian.config import Settings
from meridian.console.settings import identity_origins, sign_in
from meridian.observability import observed

if TYPE_CHECKING:
    from meridian.console.service import Console

settings = Settings()
signing_in, origins = sign_in(settings), identity_origins(settings)


@cache
def console() -> "Console":
    """Made by the first request: reading the files, and what reads them, are no part of the start."""
    from meridian.console.assets import Assets  # noqa: PLC0415
    from meridian.console.service import Console  # noqa: PLC0415

    return Console(Assets(Path(__file__).parent / "static"), signing_in, origins)


@observed
def handler(event: dict[str, Any], _context: object) -> dict[str, Any]:
    return console().answer(event["rawPath"], event.get("headers", {}))
