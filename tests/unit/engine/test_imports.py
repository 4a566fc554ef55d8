"""What the parts of the engine import is what a cold start costs, and what a test of them needs."""

import subprocess
import sys

import pytest

PURE = ("model", "values", "nodes", "calls", "execution")


@pytest.mark.parametrize(
    ("modules", "not_imported"),
    [
        (tuple(f"meridian.engine.{name}" for name in PURE), ("restate", "httpx", "jsonschema", "botocore")),
        (("meridian.engine.services",), ("jsonschema", "botocore", "boto3", "psycopg")),
        (("meridian.definitions.model", "meridian.definitions.expressions"), ("restate", "httpx", "jsonschema")),
    ],
)
def test_no_part_imports_what_it_does_not_need(modules: tuple[str, ...], not_imported: tuple[str, ...]) -> None:
    program = f"import sys, {', '.join(modules)}; print(*sys.modules)"
    paths = f"import sys; sys.path[:0] = {sys.path!r}; "
    loaded = subprocess.run([sys.executable, "-c", paths + program], capture_output=True, text=True, check=True)
    assert set(not_imported).isdisjoint(loaded.stdout.split())
