"""Writes what `make bench` measured, build/bench.json, into the table of docs/performance.md.

    performance_table.py [--check]

With `--check` nothing is written: 1 when the page shows other measurements than those of the file.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "build" / "bench.json"
PAGE = ROOT / "docs" / "performance.md"

TABLE = re.compile(r"(<!-- table: [^\n]* -->\n).*?(<!-- end -->)", re.DOTALL)


def main(arguments: Sequence[str]) -> int:
    if not RESULTS.is_file():
        print("There is no build/bench.json: run make bench first.", file=sys.stderr)
        return 1
    page = PAGE.read_text(encoding="utf-8")
    written = with_table(page, json.loads(RESULTS.read_text(encoding="utf-8")))
    if "--check" in arguments:
        return int(written != page)
    PAGE.write_text(written, encoding="utf-8")
    return 0


def with_table(page: str, results: Mapping[str, Any]) -> str:
    """The page with the measurements between its marks. Raises `ValueError` when it has no marks."""
    table = rendered(results)
    written, replaced = TABLE.subn(lambda marks: f"{marks[1]}{table}{marks[2]}", page)
    if replaced != 1:
        raise ValueError("the page has no place for the table")
    return written


def rendered(results: Mapping[str, Any]) -> str:
    """`{"machine", "rows": [{"name", "measured", "baseline", "ratio", "limit"}]}`, times in seconds, as Markdown.

    A row whose limit is null has none.
    """
    lines = [
        f"On {results['machine']}, one run:",
        "",
        "| what | measured | baseline | ratio | at most |",
        "| --- | ---: | ---: | ---: | ---: |",
        *(
            f"| {row['name']} | {duration(row['measured'])} | {duration(row['baseline'])} | {_verdict(row)} |"
            for row in results["rows"]
        ),
    ]
    return "\n".join(lines) + "\n"


def _verdict(row: Mapping[str, Any]) -> str:
    """A row's ratio and its limit, if it has one."""
    ratio, limit = row["ratio"], row["limit"]
    if limit is None:
        return f"{ratio:.2f} | none"
    return f"{ratio:.2f}{'' if ratio <= limit else ' (over)'} | {limit:.1f}"


def duration(seconds: float) -> str:
    """Three significant digits, in the unit that a person would take."""
    for unit, factor in (("s", 1.0), ("ms", 1e3)):
        if seconds * factor >= 1:
            value = seconds * factor
            return f"{value:.{max(0, 2 - len(str(int(value))) + 1)}f} {unit}"
    return f"{seconds * 1e6:.0f} µs"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
