"""Definitions in a folder of JSON files, read-only: for a run index in SQLite."""

from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from meridian import jsontext
from meridian.clock import text
from meridian.definitions.model import spec_hash
from meridian.definitions.store import PublishedVersion, VersionSummary, Workflow, parse_definition
from meridian.definitions.validation import problems
from meridian.errors import ConfigurationError, Conflict

READ_ONLY = "Definitions are read from a folder here and cannot be published: change the files and restart."


class FolderDefinitionStore:
    """A `DefinitionStore` over `<slug>.json` files, each the one active version 1 of its workflow.

    A version is published when its file was last changed. Raises `ConfigurationError` naming the file that
    is not a valid definition.
    """

    def __init__(self, folder: str) -> None:
        if not Path(folder).is_dir():
            raise ConfigurationError(f"WORKFLOWS_DIR is not a folder: {folder}")
        self._versions = {path.stem: _read(path) for path in sorted(Path(folder).glob("*.json"))}

    def receiving(self, event_type: str) -> list[PublishedVersion]:
        return [
            published
            for published in self._versions.values()
            if any(entry.event == event_type for entry in published.definition.entries)
        ]

    def active(self, slug: str) -> PublishedVersion | None:
        return self._versions.get(slug)

    def version(self, slug: str, version: int) -> PublishedVersion | None:
        published = self._versions.get(slug)
        return published if published is not None and published.version == version else None

    def workflows(self) -> list[Workflow]:
        return [_workflow(published) for published in self._versions.values()]

    def workflow(self, slug: str) -> Workflow | None:
        published = self._versions.get(slug)
        return _workflow(published) if published is not None else None

    def publish(self, slug: str, document: Mapping[str, Any], *, activate: bool) -> PublishedVersion:
        raise Conflict(READ_ONLY)

    def set_active(self, slug: str, version: int | None) -> bool:
        raise Conflict(READ_ONLY)


def _read(path: Path) -> PublishedVersion:
    content = path.read_text(encoding="utf-8")
    try:
        document = jsontext.parse(content)
    except ValueError as error:
        raise ConfigurationError(f"{path} is not JSON: {error}") from None
    faults = problems(document)
    if faults:
        raise ConfigurationError(f"{path} is not a valid definition: {faults[0].pointer} {faults[0].detail}")
    return PublishedVersion(
        slug=path.stem,
        version=1,
        spec_hash=spec_hash(document),
        published_at=text(_changed_at(path)),
        definition=parse_definition(content),
    )


def _changed_at(path: Path) -> datetime:
    return datetime.fromtimestamp(path.stat().st_mtime, UTC)


def _workflow(published: PublishedVersion) -> Workflow:
    name = published.definition.name
    summary = VersionSummary(published.version, name, published.spec_hash, published.published_at)
    return Workflow(published.slug, published.version, (summary,))
