"""Logs, metrics and traces, once per function.

The concepts log through the standard library under `meridian.…`; the logger made here formats what they write
as one JSON document a line. No log line holds a subject's data: errors are logged by their type and place, never
by their message.
"""

import logging
import sys
import warnings
from collections.abc import Callable
from functools import wraps
from typing import Any, cast

from aws_lambda_powertools.logging import Logger
from aws_lambda_powertools.metrics import Metrics, MetricUnit, single_metric
from aws_lambda_powertools.utilities.typing import LambdaContext

NAMESPACE = "Meridian"

# The name of the logger is the parent of every `meridian.…` logger, so that all of them are formatted alike.
logger = Logger(service="meridian", utc=True, use_rfc3339=True)
metrics = Metrics(namespace=NAMESPACE, service="meridian")

# Most invocations have nothing to count.
warnings.filterwarnings("ignore", message="No application metrics to publish")


def _name_component(record: logging.LogRecord) -> bool:
    """Which concept wrote the line."""
    record.component = record.name
    return True


logger.logger_handler.addFilter(_name_component)

# These clients log URLs and bodies; what matters of them is logged by the one who calls.
for _noisy in ("httpx", "httpcore", "urllib3", "botocore", "boto3"):
    logging.getLogger(_noisy).setLevel(logging.WARNING)

Handler = Callable[[dict[str, Any], LambdaContext], Any]


def observed(handler: Handler) -> Handler:
    """A Lambda handler with the invocation's context in every log line and its metrics written at its end."""

    @logger.inject_lambda_context(clear_state=True)
    @metrics.log_metrics(capture_cold_start_metric=False)
    @wraps(handler)
    def observed_handler(event: dict[str, Any], context: LambdaContext) -> Any:
        return handler(event, context)

    return cast(Handler, observed_handler)


def count_settled(ending: str, source: str) -> None:
    """Counts one run whose end was frozen: `meridian.runs.settled` by `ending` and `source`."""
    with single_metric(
        name="meridian.runs.settled",
        unit=MetricUnit.Count,
        value=1,
        namespace=NAMESPACE,
        default_dimensions={"service": "meridian", "ending": ending, "source": source},
    ):
        pass


def count(name: str, value: int = 1) -> None:
    """Adds `value` to the metric `name` of this invocation."""
    metrics.add_metric(name=name, unit=MetricUnit.Count, value=value)


def log_unexpected(error: BaseException) -> None:
    """An error that nobody expected: its type and where it was raised, and nothing that it carries."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    place = f"{trace.tb_frame.f_code.co_filename}:{trace.tb_lineno}" if trace is not None else "unknown"
    logger.error("unexpected error", extra={"error": type(error).__qualname__, "place": place})


def _log_what_stops_the_process(kind: type[BaseException], error: BaseException, trace: Any) -> None:
    log_unexpected(error)


sys.excepthook = _log_what_stops_the_process
