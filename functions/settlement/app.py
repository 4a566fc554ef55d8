"""The schedule's settlement: one pass over the runs that have not ended."""

import logging
from contextlib import AbstractContextManager
from functools import cache
from typing import Any

from aws_lambda_powertools.tracing import Tracer
from aws_lambda_powertools.utilities.typing import LambdaContext

from meridian.config import Settings
from meridian.observability import observed
from meridian.settlement.deadline import Deadline
from meridian.settlement.lease import Lease
from meridian.settlement.sweep import SettlementPass
from meridian.wiring import Wiring

DEFAULT_INTERVAL_MS = 60_000
# What the requests in flight and the end of the invocation may take.
MARGIN_SECONDS = 5.0

logger = logging.getLogger("meridian.runs")
tracer = Tracer(service="meridian")
settings = Settings()
wiring = Wiring(settings, needs_definitions=False)
INTERVAL_MS = settings.whole_number("RUN_SETTLE_INTERVAL_MS", DEFAULT_INTERVAL_MS)
RESTATE_URL, RESTATE_ADMIN_URL = settings.restate_url, settings.url("RESTATE_ADMIN_URL")


def _span() -> AbstractContextManager[Any]:
    span: AbstractContextManager[Any] = tracer.provider.in_subsegment("runs.settle")
    return span


@cache
def settlement_pass() -> SettlementPass:
    lease = Lease(wiring.lease_database, f"settlement of {RESTATE_URL}")
    return SettlementPass(wiring.settlement, lease, _span, wiring.admin)


@observed
def handler(event: dict[str, Any], context: LambdaContext) -> dict[str, Any]:
    """One pass within the time of the invocation. Safe to run again, and several at once."""
    if INTERVAL_MS == 0:
        return {"ran": False}
    deadline = Deadline(context.get_remaining_time_in_millis() / 1000 - MARGIN_SECONDS)
    result = settlement_pass().run(deadline)
    answer = {"ran": result.ran, "finished": result.finished, "rows": dict(result.rows)}
    logger.info("settlement pass", extra=answer)
    return answer
