"""The services that tests run against, all real; see tests/services."""

from tests.services.postgres import module_postgres_url, new_postgres_url, postgres_server, postgres_url
from tests.services.restate import restate
from tests.services.stack import stack

__all__ = ["module_postgres_url", "new_postgres_url", "postgres_server", "postgres_url", "restate", "stack"]
