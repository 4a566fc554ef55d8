"""Logs, metrics and traces, once per function.

The concepts log through the standard library under `meridian.…`; the logger made here formats what they write
as one JSON document a line. No log line and no trace holds a subject's data: errors are told by their type and place,
never by their message, and neither answers nor addresses that are called are traced.
"""

import logging
import os
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any, cast

from aws_lambda_powertools.logging import Logger
from aws_lambda_powertools.metrics import Metrics, MetricUnit, single_metric
from aws_lambda_powertools.tracing import Tracer
from aws_lambda_powertools.utilities.typing import LambdaContext

from meridian import correlation
from meridian.errors import MeridianError

NAMESPACE = "Meridian"
SERVICE = os.environ.get("POWERTOOLS_SERVICE_NAME") or "meridian"  # on AWS the stack, whose metrics are its own

# The name of the logger is the parent of every `meridian.…` logger, so that all of them are formatted alike.
logger = Logger(service="meridian", utc=True, use_rfc3339=True)
metrics = Metrics(namespace=NAMESPACE, service=SERVICE)
tracer = Tracer(service=SERVICE, auto_patch=False)

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
    """A Lambda handler with the invocation's context in every log line, traced, its metrics written at its end."""

    @tracer.capture_lambda_handler(capture_response=False, capture_error=False)
    @logger.inject_lambda_context(clear_state=True)
    @metrics.log_metrics(capture_cold_start_metric=False)
    @wraps(handler)
    def observed_handler(event: dict[str, Any], context: LambdaContext) -> Any:
        correlation.begin(None)
        with _told_by_type():
            return handler(event, context)

    return cast(Handler, observed_handler)


class InvocationFailed(MeridianError):
    """An invocation ended by an error that nobody expected, whose type is the message."""


@contextmanager
def _told_by_type() -> Iterator[None]:
    """Lets an error that nobody expected out by its type alone: Lambda logs what is raised, and X-Ray keeps it."""
    try:
        yield
    except MeridianError:  # whose message holds no value
        raise
    except Exception as error:
        log_unexpected(error)
        raise InvocationFailed(type(error).__qualname__) from None


def count_settled(ending: str, source: str) -> None:
    """Counts one run whose end was frozen: `meridian.runs.settled` by `ending` and `source`."""
    with single_metric(
        name="meridian.runs.settled",
        unit=MetricUnit.Count,
        value=1,
        namespace=NAMESPACE,
        default_dimensions={"service": SERVICE, "ending": ending, "source": source},
    ):
        pass


def count(name: str, value: int = 1) -> None:
    """Adds `value` to the metric `name` of this invocation."""
    metrics.add_metric(name=name, unit=MetricUnit.Count, value=value)


def gauge(name: str, value: float, unit: MetricUnit = MetricUnit.Count) -> None:
    """Tells the value that `name` has now."""
    metrics.add_metric(name=name, unit=unit, value=value)


def correlate(correlation_id: str, **keys: str) -> None:
    """From here on every log line, the trace and the calls to Restate name the request, and `keys` beside it."""
    correlation.begin(correlation_id)
    logger.set_correlation_id(correlation_id)
    name(**keys)


def name(**keys: str) -> None:
    """Names what the invocation is about, such as `eventId`, in its log lines and its trace."""
    logger.append_keys(**keys)
    for key, value in keys.items():
        tracer.put_annotation(key, value)


@contextmanager
def span(title: str) -> Iterator[None]:
    """A part of the invocation that its trace shows by itself."""
    with tracer.provider.in_subsegment(title), _told_by_type():
        yield


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
