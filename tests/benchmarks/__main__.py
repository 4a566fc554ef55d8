"""`make bench`: measures every ratio, prints the table and writes it as JSON to build/bench.json.

Ends with an error when a ratio is over its limit. Names of benchmarks as arguments run those alone.
"""

from __future__ import annotations

import importlib
import inspect
import json
import os
import platform
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.benchmarks.rows import Row, is_over
from tests.services.endpoint import serving
from tests.services.postgres import fresh_database, running_postgres
from tests.services.restate import running_restate
from tests.services.scripted import scripted_endpoint

FOLDER = Path(__file__).parent
RESULTS = Path("build/bench.json")


def main(chosen: list[str]) -> int:
    names = sorted(path.stem for path in FOLDER.glob("*_bench.py"))
    names = [name for name in names if not chosen or name.removesuffix("_bench") in chosen]
    rows: list[Row] = []
    for name in names:
        print(f"{name} …", file=sys.stderr, flush=True)
        rows += _measure(name)
    _print_table(rows)
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(json.dumps({"machine": _machine(), "rows": rows}, indent=2) + "\n")
    over = [row["name"] for row in rows if is_over(row)]
    if over:
        print(f"over the limit: {', '.join(over)}", file=sys.stderr)
    return 1 if over else 0


def _measure(name: str) -> list[Row]:
    """Runs one benchmark with the services that its `run` asks for by the names of its parameters."""
    run = importlib.import_module(f"tests.benchmarks.{name}").run
    with tempfile.TemporaryDirectory(prefix="meridian-bench-") as folder, _services(Path(folder), run) as services:
        rows: list[Row] = run(**services)
        return rows


@contextmanager
def _services(folder: Path, run: Any) -> Iterator[dict[str, str]]:
    wanted = inspect.signature(run).parameters
    if "database_url" in wanted and "ingress_url" not in wanted:
        with _database(folder) as url:
            yield {"database_url": url}
        return
    if "ingress_url" not in wanted:
        yield {}
        return
    with _database(folder) as url, running_restate(folder) as restate:
        with serving(scripted_endpoint([])) as endpoint:
            restate.register({"uri": endpoint, "use_http_11": True})
        # The endpoint is gone again: runs are accepted and stay live, and nobody executes them beside us.
        services = {"database_url": url, "ingress_url": restate.ingress_url, "admin_url": restate.admin_url}
        yield {name: value for name, value in services.items() if name in wanted}


@contextmanager
def _database(folder: Path) -> Iterator[str]:
    with running_postgres(folder) as server, fresh_database(server) as url:
        yield url


def _machine() -> str:
    kind = f"{platform.system()} on {platform.machine()} with {os.cpu_count()} processors"
    return f"{kind}, {platform.python_implementation()} {platform.python_version()}"


def _print_table(rows: list[Row]) -> None:
    print(f"{'what':<78}{'measured':>12}{'baseline':>12}{'ratio':>8}{'limit':>8}")
    for row in rows:
        limit = "" if row["limit"] is None else f"{row['limit']:.2f}"
        mark = "  over" if is_over(row) else ""
        print(
            f"{row['name']:<78}{_seconds(row['measured']):>12}{_seconds(row['baseline']):>12}"
            f"{row['ratio']:>8.2f}{limit:>8}{mark}"
        )


def _seconds(seconds: float) -> str:
    return f"{seconds * 1000:.3f} ms" if seconds < 1 else f"{seconds:.2f} s"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
