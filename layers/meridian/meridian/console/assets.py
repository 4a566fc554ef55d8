"""The files of the console, read once and served under a name that changes with them.

Their address holds a digest of all of them, `/console/assets/<release>/<path>`, so that browsers keep them for ever
and the modules still import each other by relative paths. Nothing is built before a deployment.
"""

import gzip
import hashlib
import re
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path, PurePosixPath

CONTENT_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".json": "application/json",
    ".svg": "image/svg+xml",
}
PAGE = "index.html"
ENTRY = "app.js"

# A static import, which has a line of its own; `import(…)`, which loads on demand, is left out on purpose.
_IMPORT = re.compile(r"""^(?:import|export)\b[^"'();]*?["'](\.{1,2}/[^"']+)["'];""", re.MULTILINE)


class Asset:
    """One file as it is sent."""

    def __init__(self, content_type: str, body: bytes) -> None:
        self.content_type = content_type
        self.body = body

    @cached_property
    def etag(self) -> str:
        """A strong validator of the plain body; the compressed one has its own (RFC 9110, 8.8.3.3)."""
        return hashlib.sha256(self.body).hexdigest()[:32]

    @cached_property
    def gzipped(self) -> bytes:
        return gzip.compress(self.body, 9, mtime=0)


class Assets:
    """All files under `root` that a browser may ask for, by their path relative to it."""

    def __init__(self, root: Path) -> None:
        self._files = {
            file.relative_to(root).as_posix(): Asset(CONTENT_TYPES[file.suffix], file.read_bytes())
            for file in sorted(root.rglob("*"))
            if file.suffix in CONTENT_TYPES and file.is_file()
        }
        digest = hashlib.sha256()
        for path, asset in self._files.items():
            digest.update(f"{path}\0{asset.etag}\0".encode())
        self.release = digest.hexdigest()[:16]

    def get(self, path: str) -> Asset | None:
        """A file by its path, the page excepted."""
        return self._files.get(path) if path != PAGE else None

    @cached_property
    def page(self) -> Asset:
        """The page, naming its files by their release and the modules to fetch at once, not one after another."""
        prefix = f"/console/assets/{self.release}"
        modules = imported_by(ENTRY, {path: asset.body.decode() for path, asset in self._files.items()})
        preloads = "\n    ".join(f'<link rel="modulepreload" href="{prefix}/{path}">' for path in modules)
        template = self._files[PAGE]
        text = template.body.decode().replace("{{assets}}", prefix).replace("{{preloads}}", preloads)
        return Asset(template.content_type, text.encode())


def imported_by(entry: str, sources: Mapping[str, str]) -> list[str]:
    """The modules that `entry` imports statically, and those that they import, without `entry` itself."""
    found: dict[str, None] = {}
    ahead = [entry]
    while ahead:
        module = ahead.pop()
        for target in _IMPORT.findall(sources[module]):
            path = _resolved(PurePosixPath(module).parent, target)
            if path not in found and path != entry:
                found[path] = None
                ahead.append(path)
    return sorted(found)


def _resolved(folder: PurePosixPath, target: str) -> str:
    parts = list(folder.parts)
    for part in PurePosixPath(target).parts:
        if part == "..":
            parts.pop()
        else:
            parts.append(part)
    return "/".join(parts)
