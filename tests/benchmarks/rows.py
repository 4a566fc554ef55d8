"""A row of the benchmark's table."""

from typing import TypedDict


class Row(TypedDict):
    """A ratio: what is measured must take at most `limit` times the baseline. Without a limit it is told alone."""

    name: str
    measured: float  # seconds
    baseline: float  # seconds
    ratio: float
    limit: float | None


def is_over(row: Row) -> bool:
    return row["limit"] is not None and row["ratio"] > row["limit"]


def row(name: str, measured: float, baseline: float, limit: float | None = None) -> Row:
    return {"name": name, "measured": measured, "baseline": baseline, "ratio": measured / baseline, "limit": limit}
