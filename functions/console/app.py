"""The console: the page for people, its files, and how it signs in."""

from pathlib import Path
from typing import Any

from meridian.config import Settings
from meridian.console.assets import Assets
from meridian.console.service import Console
from meridian.console.settings import identity_origins, sign_in
from meridian.observability import observed

settings = Settings()
console = Console(Assets(Path(__file__).parent / "static"), sign_in(settings), identity_origins(settings))


@observed
def handler(event: dict[str, Any], _context: object) -> dict[str, Any]:
    return console.answer(event["rawPath"], event.get("headers", {}))
