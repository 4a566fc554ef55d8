"""The id by which one request is followed from API Gateway, or a queue, to Restate and the engine.

An execution environment does one invocation at a time, so the id is the process's, also in the threads that it starts.
"""

import os
import re

HEADER = "x-correlation-id"
TRACE_HEADER = "traceparent"

_X_RAY = re.compile(r"Root=1-([0-9a-f]{8})-([0-9a-f]{24});Parent=([0-9a-f]{16});Sampled=([01])")

_current: str | None = None


def begin(correlation_id: str | None) -> None:
    """What is done from here on belongs to this request; None: to none."""
    global _current  # noqa: PLW0603 - see the module's own docstring
    _current = correlation_id


def headers() -> dict[str, str]:
    """What tells the next service: the id, and the trace of X-Ray in the form of W3C, which Restate reads."""
    told = {HEADER: _current} if _current is not None else {}
    trace = _X_RAY.search(os.environ.get("_X_AMZN_TRACE_ID", ""))
    if trace is not None:
        date, number, parent, sampled = trace.groups()
        told[TRACE_HEADER] = f"00-{date}{number}-{parent}-0{sampled}"
    return told
