"""Definitions in PostgreSQL."""

from collections.abc import Mapping
from typing import Any

from meridian import jsontext
from meridian.clock import now
from meridian.database import Create, Database, Row, Schema
from meridian.definitions.model import Definition, spec_hash
from meridian.definitions.store import PublishedVersion, VersionSummary, Workflow, parse_definition

DEFINITION_SCHEMA = Schema(
    name="definitions",
    steps=(
        Create(
            "table",
            "workflow_definitions",
            """CREATE TABLE IF NOT EXISTS workflow_definitions (
  slug TEXT PRIMARY KEY,
  latest_version INTEGER NOT NULL,
  active_version INTEGER
)""",
        ),
        Create(
            "table",
            "workflow_versions",
            """CREATE TABLE IF NOT EXISTS workflow_versions (
  slug TEXT NOT NULL,
  version INTEGER NOT NULL,
  name TEXT NOT NULL,
  spec TEXT NOT NULL,
  spec_hash TEXT NOT NULL,
  event_types JSONB NOT NULL,
  published_at TEXT NOT NULL,
  PRIMARY KEY (slug, version)
)""",
        ),
    ),
)

VERSION_COLUMNS = 5
_VERSION = "SELECT v.slug, v.version, v.spec_hash, v.published_at, v.spec FROM workflow_versions v"
_ACTIVE = f"{_VERSION} JOIN workflow_definitions d ON d.slug = v.slug AND d.active_version = v.version"

RECEIVING = f"{_ACTIVE} WHERE v.event_types @> to_jsonb(:event_type::text) ORDER BY v.slug"
ACTIVE = f"{_ACTIVE} WHERE d.slug = :slug"
VERSION = f"{_VERSION} WHERE v.slug = :slug AND v.version = :version"

_SUMMARY = "d.slug, d.active_version, v.version, v.name, v.spec_hash, v.published_at"
WORKFLOWS = f"""
SELECT {_SUMMARY} FROM workflow_definitions d
JOIN workflow_versions v ON v.slug = d.slug AND v.version = d.latest_version ORDER BY d.slug
"""  # noqa: S608
WORKFLOW = f"""
SELECT {_SUMMARY} FROM workflow_definitions d JOIN workflow_versions v ON v.slug = d.slug
WHERE d.slug = :slug ORDER BY v.version DESC
"""  # noqa: S608

# Two who publish at once: the second waits for the row lock of the first, and gets the number after.
TAKE_NEXT_VERSION = """
INSERT INTO workflow_definitions (slug, latest_version) VALUES (:slug, 1)
ON CONFLICT (slug) DO UPDATE SET latest_version = workflow_definitions.latest_version + 1
RETURNING latest_version
"""
INSERT_VERSION = """
INSERT INTO workflow_versions (slug, version, name, spec, spec_hash, event_types, published_at)
VALUES (:slug, :version, :name, :spec, :spec_hash, :event_types::jsonb, :published_at)
"""
SET_ACTIVE = """
UPDATE workflow_definitions SET active_version = :version::integer
WHERE slug = :slug AND (:version::integer IS NULL OR EXISTS
  (SELECT 1 FROM workflow_versions v WHERE v.slug = :slug AND v.version = :version::integer))
"""


class SqlDefinitionStore:
    """A `DefinitionStore` over PostgreSQL."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def receiving(self, event_type: str) -> list[PublishedVersion]:
        return [published_version(row) for row in self._database.execute(RECEIVING, {"event_type": event_type})]

    def active(self, slug: str) -> PublishedVersion | None:
        rows = self._database.execute(ACTIVE, {"slug": slug})
        return published_version(rows[0]) if rows else None

    def version(self, slug: str, version: int) -> PublishedVersion | None:
        rows = self._database.execute(VERSION, {"slug": slug, "version": version})
        return published_version(rows[0]) if rows else None

    def workflows(self) -> list[Workflow]:
        return [Workflow(row[0], row[1], (_summary(row),)) for row in self._database.execute(WORKFLOWS)]

    def workflow(self, slug: str) -> Workflow | None:
        rows = self._database.execute(WORKFLOW, {"slug": slug})
        return Workflow(slug, rows[0][1], tuple(_summary(row) for row in rows)) if rows else None

    def publish(self, slug: str, document: Mapping[str, Any], *, activate: bool) -> PublishedVersion:
        definition = Definition.parse(document)
        text = jsontext.serialize(document)
        with self._database.transaction():
            version = self._database.execute(TAKE_NEXT_VERSION, {"slug": slug})[0][0]
            published = PublishedVersion(slug, version, spec_hash(document), now(), parse_definition(text))
            self._database.execute(
                INSERT_VERSION,
                {
                    "slug": slug,
                    "version": version,
                    "name": definition.name,
                    "spec": text,
                    "spec_hash": published.spec_hash,
                    "event_types": jsontext.serialize(sorted({entry.event for entry in definition.entries})),
                    "published_at": published.published_at,
                },
            )
            if activate:
                self._database.execute(SET_ACTIVE, {"slug": slug, "version": version})
        return published

    def set_active(self, slug: str, version: int | None) -> bool:
        return bool(self._database.count(SET_ACTIVE, {"slug": slug, "version": version}))


def published_version(row: Row) -> PublishedVersion:
    """The version in a row of the columns that are selected above."""
    slug, version, hash_of_spec, published_at, spec = row
    return PublishedVersion(slug, version, hash_of_spec, published_at, parse_definition(spec))


def _summary(row: Row) -> VersionSummary:
    return VersionSummary(*row[2:])
