"""The deployment's own function: brings the databases up to date and registers the engine with Restate.

CloudFormation calls it for the resources `Custom::Schema` and `Custom::EngineRegistration`; any other event brings
the databases up to date.
"""

from collections.abc import Callable, Mapping
from typing import Any

from aws_lambda_powertools.utilities.typing import LambdaContext

from meridian.config import Settings
from meridian.database import Schema
from meridian.definitions.sql_store import DEFINITION_SCHEMA
from meridian.deployment import custom_resource
from meridian.deployment.migration import MigrationError, await_answer, migrate
from meridian.memory.schema import MEMORY_SCHEMA
from meridian.observability import observed
from meridian.restate.admin import Admin
from meridian.runs.schema import RUN_SCHEMA
from meridian.settlement.schema import LEASE_SCHEMA

# Kept for answering CloudFormation: it waits for an hour for a function that was cut off.
ANSWER_SECONDS = 30.0

settings = Settings()
run_db_url, definition_store_url = settings.run_db_url, settings.definition_store_url
restate_admin_url = settings.url("RESTATE_ADMIN_URL")


@observed
def handler(event: dict[str, Any], context: LambdaContext) -> dict[str, Any] | None:
    def remaining() -> float:
        return context.get_remaining_time_in_millis() / 1000 - ANSWER_SECONDS

    def work(resource_type: str, properties: Mapping[str, Any]) -> Mapping[str, Any]:
        if resource_type == "Custom::EngineRegistration":
            return register_engine(properties)
        return bring_up_to_date(remaining, is_new=True)

    if custom_resource.is_from_cloudformation(event):
        custom_resource.answer(event, work, context.log_group_name)
        return None
    return bring_up_to_date(remaining)


def bring_up_to_date(remaining: Callable[[], float], *, is_new: bool = False) -> dict[str, Any]:
    """Migrates each database once; `{"indexesBuilt": names}`. One that is new is given some minutes to answer."""
    schemas: dict[str, tuple[Schema, ...]] = {run_db_url: (RUN_SCHEMA, LEASE_SCHEMA)}
    if definition_store_url is not None:
        schemas[definition_store_url] = (*schemas.get(definition_store_url, ()), DEFINITION_SCHEMA, MEMORY_SCHEMA)
    if definition_store_url == run_db_url:
        from meridian.ingestion.routing import ROUTING_SCHEMA  # noqa: PLC0415 - loads the concepts of ingestion

        schemas[run_db_url] += (ROUTING_SCHEMA,)
    built: list[str] = []
    for url, wanted in schemas.items():
        database = settings.open_database(url, "RUN_DB_URL" if url == run_db_url else "DEFINITION_STORE_URL")
        try:
            if is_new:
                await_answer(database, remaining)
            built += migrate(database, wanted, remaining)
        finally:
            database.close()
    return {"indexesBuilt": built}


def register_engine(properties: Mapping[str, Any]) -> dict[str, Any]:
    """Registers `EngineVersionArn`, which Restate calls by the role `InvokerRoleArn` where given."""
    if restate_admin_url is None:
        raise MigrationError("RESTATE_ADMIN_URL is missing: it gives the address at which the engine is registered.")
    admin = Admin(restate_admin_url, api_key=settings.restate_api_key)
    try:
        return {"deploymentId": admin.register(properties["EngineVersionArn"], properties.get("InvokerRoleArn"))}
    finally:
        admin.close()
