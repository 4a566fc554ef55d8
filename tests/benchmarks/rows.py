"""A row of the benchmark's table."""

from typing import TypedDict


class Row(TypedDict):
    """One ratio that is asked for: what is measured must take at most `limit` times the baseline."""

    name: str
    measured: float  # seconds
    baseline: float  # seconds
    ratio: float
    limit: float


def row(name: str, measured: float, baseline: float, limit: float) -> Row:
    return {"name": name, "measured": measured, "baseline": baseline, "ratio": measured / baseline, "limit": limit}
