"""Putting the parts of a function together from its settings."""

from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, Any

from meridian.config import Settings
from meridian.database import Database, Schema, ensure_schema
from meridian.errors import ConfigurationError, ProblemError
from meridian.restate.ingress import Ingress
from meridian.runs.schema import RUN_SCHEMA
from meridian.runs.store import RunStore, SqlRunStore
from meridian.snapstart import close_around_snapshot

if TYPE_CHECKING:
    from meridian.definitions.store import DefinitionStore
    from meridian.definitions.validation import Problem
    from meridian.ingestion.recent import RecentEvents
    from meridian.ingestion.routing import Routing
    from meridian.restate.admin import Admin
    from meridian.settlement.follow_ups import FollowUps
    from meridian.settlement.settling import Settlement


class Wiring:
    """The parts of one function's environment, each made when it is first used and kept.

    Settings are read at once, so that a wrong one stops the function at its start. Nothing connects before it is
    needed: a database that is down fails the request, and the next one tries again.
    """

    def __init__(self, settings: Settings, needs_definitions: bool = True, needs_restate: bool = True) -> None:
        self.settings = settings
        self.run_db_url = self.settings.run_db_url
        self.run_db_login = self.settings.run_db_login
        self.definition_store_url = self.settings.definition_store_url
        self.workflows_dir = self.settings.text("WORKFLOWS_DIR")
        if needs_definitions and self.definition_store_url is None and self.workflows_dir is None:
            raise ConfigurationError(
                "WORKFLOWS_DIR or DEFINITION_STORE_URL is missing: with a SQLite run index the definitions are "
                "read from a folder or from a PostgreSQL database."
            )
        if needs_restate:
            self.restate_url = self.settings.restate_url
        self.restate_admin_url = self.settings.url("RESTATE_ADMIN_URL")
        self.settle_queue_url = self.settings.url("SETTLE_QUEUE_URL")

    @cached_property
    def run_database(self) -> Database:
        return self._opened(self.run_db_url, "RUN_DB_URL", RUN_SCHEMA)

    @cached_property
    def runs(self) -> RunStore:
        return SqlRunStore(self.run_database)

    @cached_property
    def recent_events(self) -> "RecentEvents":
        from meridian.ingestion.recent import RecentEvents  # noqa: PLC0415

        return RecentEvents(self.run_database)

    @cached_property
    def definitions(self) -> "DefinitionStore":
        if self.definition_store_url is None:
            from meridian.definitions.folder_store import FolderDefinitionStore  # noqa: PLC0415

            return FolderDefinitionStore(self.workflows_dir or "")
        from meridian.definitions.sql_store import DEFINITION_SCHEMA, SqlDefinitionStore  # noqa: PLC0415

        return SqlDefinitionStore(self._opened(self.definition_store_url, "DEFINITION_STORE_URL", DEFINITION_SCHEMA))

    @cached_property
    def routing(self) -> "Routing | None":
        """The one read of definitions and runs, where one database keeps both."""
        if self.definition_store_url != self.run_db_url:
            return None
        from meridian.ingestion.routing import ROUTING_SCHEMA, RoutingByOneRead  # noqa: PLC0415

        _ = self.run_database, self.definitions  # bring their tables up to date
        return RoutingByOneRead(self._opened(self.run_db_url, "RUN_DB_URL", ROUTING_SCHEMA))

    def find_spec(self, slug: str, version: int) -> Any | None:
        """The document of a published version."""
        published = self.definitions.version(slug, version)
        return published.document if published is not None else None

    def check_definition(self, document: object) -> "list[Problem]":
        """What is wrong with a definition. The validator is loaded by the first document that needs it."""
        from meridian.definitions.validation import problems  # noqa: PLC0415

        return problems(document)

    @cached_property
    def ingress(self) -> Ingress:
        ingress = Ingress(self.restate_url, api_key=self.settings.restate_api_key)
        if self.settings.in_lambda:
            close_around_snapshot(ingress.close)
        return ingress

    def readiness(self) -> dict[str, bool]:
        """Whether the run store and Restate's ingress answer, each by itself."""

        def run_store() -> bool:
            self.runs.ping()
            return True

        def answers(ask: Callable[[], bool]) -> bool:
            try:
                return ask()
            except ProblemError:  # of the connection, or of the secret that opens it
                return False

        return {"runStore": answers(run_store), "restate": answers(self.ingress.is_healthy)}

    @cached_property
    def admin(self) -> "Admin | None":
        """Restate's admin API, where its address is given."""
        if self.restate_admin_url is None:
            return None
        from meridian.restate.admin import Admin  # noqa: PLC0415

        return Admin(self.restate_admin_url, api_key=self.settings.restate_api_key)

    @cached_property
    def settlement(self) -> "Settlement":
        from meridian.observability import count_settled  # noqa: PLC0415
        from meridian.settlement.settling import Settlement  # noqa: PLC0415

        return Settlement(self.runs, self.ingress, self.settings.record_ports, count_settled)

    @cached_property
    def follow_ups(self) -> "FollowUps":
        from meridian.settlement.follow_ups import follow_ups_to  # noqa: PLC0415

        return follow_ups_to(self.settle_queue_url)

    @cached_property
    def lease_database(self) -> Database:
        from meridian.settlement.schema import LEASE_SCHEMA  # noqa: PLC0415

        return self._opened(self.run_db_url, "RUN_DB_URL", LEASE_SCHEMA)

    @cached_property
    def _databases(self) -> dict[str, Database]:
        return {}

    def _opened(self, url: str, setting: str, schema: Schema) -> Database:
        """The database at `url`, shared by all that name it, with `schema` brought up to date."""
        database = self._databases.get(url) or self.settings.open_database(url, setting)
        ensure_schema(database, schema)
        self._databases[url] = database
        return database
