"""The published versions of the workflows."""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, NamedTuple, Protocol

from meridian import jsontext
from meridian.definitions.model import Definition


class PublishedVersion(NamedTuple):
    """One version of a workflow. It never changes once it is published."""

    slug: str
    version: int
    spec_hash: str  # SHA-256 of the canonical JSON
    published_at: str
    definition: Definition

    @property
    def document(self) -> Mapping[str, Any]:
        """The definition as it was published."""
        return self.definition.document


class VersionSummary(NamedTuple):
    """A version without its document."""

    version: int
    name: str
    spec_hash: str
    published_at: str


class Workflow(NamedTuple):
    """A workflow and what was published of it."""

    slug: str
    active_version: int | None  # None: it receives no event
    versions: tuple[VersionSummary, ...]  # newest first


class DefinitionStore(Protocol):
    """Where definitions are kept. Every method may raise `DatabaseUnavailable`."""

    def receiving(self, event_type: str) -> list[PublishedVersion]:
        """The active versions that have an entry for `event_type`, by slug."""
        ...

    def active(self, slug: str) -> PublishedVersion | None: ...

    def version(self, slug: str, version: int) -> PublishedVersion | None: ...

    def workflows(self) -> list[Workflow]:
        """Every workflow, by slug, each with its newest version alone."""
        ...

    def workflow(self, slug: str) -> Workflow | None:
        """A workflow with all its versions."""
        ...

    def publish(self, slug: str, document: Mapping[str, Any], *, activate: bool) -> PublishedVersion:
        """Adds the next version of a valid document; makes it the active one when `activate`.

        Raises `Conflict` where definitions are read-only.
        """
        ...

    def set_active(self, slug: str, version: int | None) -> bool:
        """Makes a version the one that receives events, or none; false when there is no such version.

        Raises `Conflict` where definitions are read-only.
        """
        ...


@lru_cache(maxsize=512)
def parse_definition(text: str) -> Definition:
    """The definition in a stored document. Versions never change, so each is parsed once per process."""
    return Definition.parse(jsontext.parse(text))
