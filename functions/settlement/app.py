"""The schedule's settlement: one pass over the runs that have not ended."""

import logging
from contextlib import AbstractContextManager
from functools import cache
from typing import Any

from aws_lambda_powertools.metrics import MetricUnit
from aws_lambda_powertools.utilities.typing import LambdaContext

from meridian.clock import age
from meridian.config import Settings
from meridian.observability import count, gauge, observed, span
from meridian.settlement.deadline import Deadline
from meridian.settlement.lease import Lease
from meridian.settlement.sweep import SettlementPass
from meridian.wiring import Wiring

DEFAULT_INTERVAL_MS = 60_000
# What the requests in flight and the end of the invocation may take.
MARGIN_SECONDS = 5.0

logger = logging.getLogger("meridian.runs")
settings = Settings()
wiring = Wiring(settings, needs_definitions=False)
INTERVAL_MS = settings.whole_number("RUN_SETTLE_INTERVAL_MS", DEFAULT_INTERVAL_MS)


def _span() -> AbstractContextManager[Any]:
    return span("runs.settle")


@cache
def settlement_pass() -> SettlementPass:
    lease = Lease(wiring.lease_database, f"settlement of {wiring.restate_url}")
    return SettlementPass(wiring.settlement, lease, _span, wiring.admin)


@observed
def handler(event: dict[str, Any], context: LambdaContext) -> dict[str, Any]:
    """One pass within the time of the invocation. Safe to run again, and several at once."""
    if INTERVAL_MS == 0:
        return {"ran": False}
    _tell_health()
    deadline = Deadline(context.get_remaining_time_in_millis() / 1000 - MARGIN_SECONDS)
    result = settlement_pass().run(deadline)
    answer = {"ran": result.ran, "finished": result.finished, "rows": dict(result.rows)}
    count("meridian.settlement.passes", int(result.ran))
    logger.info("settlement pass", extra=answer)
    return answer


def _tell_health() -> None:
    """What the alarms watch: whether the stack is ready, and the age of its oldest live run in seconds."""
    checks = wiring.readiness()
    gauge("meridian.ready", int(all(checks.values())))
    if checks["runStore"]:
        oldest = wiring.runs.oldest_live()
        try:
            seconds = age(oldest).total_seconds() if oldest is not None else 0.0
        except ValueError:  # one row that another hand wrote must not keep the pass from all others
            logger.warning("the oldest live run has no time that can be read")
            return
        gauge("meridian.runs.oldest_live", seconds, MetricUnit.Seconds)
