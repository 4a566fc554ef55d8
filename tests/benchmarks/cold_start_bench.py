"""What a cold start spends on imports, measured on what is built, in a fresh process for each import.

A function's module is imported as in Lambda: by AWS's runtime client, with the function's own folder and the layer
on the path. Against it stands the import of the third-party modules alone that it loads, and the same import from a
copy of the build without bytecode, where none is written: Lambda's disk is read-only.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from statistics import median

from local.functions import environment_variables
from local.model import Function
from tests.benchmarks.rows import Row, row
from tests.services.build import built, built_functions, runtime_python

ROUNDS = 7
OWN_LIMIT, BYTECODE_LIMIT = 1.1, 0.4
SETTINGS = {
    "RUN_DB_URL": "postgresql://meridian@127.0.0.1:9/meridian",
    "RESTATE_URL": "http://127.0.0.1:9",
    "API_INTERNAL_URL": "http://127.0.0.1:9",
}

LIST_MODULES = """
import json, sys
import awslambdaric.bootstrap
before = set(sys.modules)
import app
paths = ("/site-packages/", "/python/", "/EngineFunction/")
files = {name: getattr(module, "__file__", None) or "" for name, module in sys.modules.items() if name not in before}
own = ("app", "meridian")
print(json.dumps([
    name for name, file in files.items()
    if any(path in file for path in paths) and name.partition(".")[0] not in own
]))
"""
"""The third-party modules that a function's module loads, in the order in which their imports began."""

TIME_IMPORTS = """
import sys
import awslambdaric.bootstrap
from importlib import import_module
from time import perf_counter
names = sys.argv[1:]
begun = perf_counter()
for name in names:
    import_module(name)
print(perf_counter() - begun)
"""


def run() -> list[Row]:
    with built() as build, tempfile.TemporaryDirectory(prefix="meridian-bench-") as folder:
        bare = Path(folder) / "build"
        shutil.copytree(build, bare, ignore=shutil.ignore_patterns("__pycache__"))
        functions, without_bytecode = built_functions(build, SETTINGS), built_functions(bare, SETTINGS)
        # The first import writes the bytecode of what AWS's runtime brings along; AWS ships it.
        libraries = {name: json.loads(_run(function, LIST_MODULES)) for name, function in functions.items()}
        modules: dict[str, list[float]] = {name: [] for name in functions}
        alone: dict[str, list[float]] = {name: [] for name in functions}
        compiled_anew: dict[str, list[float]] = {name: [] for name in functions}
        for _ in range(ROUNDS):
            for name, function in functions.items():
                modules[name].append(_import_seconds(function, ["app"]))
                alone[name].append(_import_seconds(function, libraries[name]))
                compiled_anew[name].append(_import_seconds(without_bytecode[name], ["app"]))
    return [
        _worst("import of a function's module, to its libraries alone; the worst", modules, alone, OWN_LIMIT),
        _worst("the same with bytecode, to without; the worst", modules, compiled_anew, BYTECODE_LIMIT),
    ]


def _worst(name: str, measured: Mapping[str, list[float]], baseline: Mapping[str, list[float]], limit: float) -> Row:
    """The row of the function whose ratio is the worst, named in it."""
    ratios = {function: median(measured[function]) / median(baseline[function]) for function in measured}
    worst = max(ratios, key=ratios.__getitem__)
    return row(f"{name} ({worst})", median(measured[worst]), median(baseline[worst]), limit)


def _import_seconds(function: Function, modules: list[str]) -> float:
    read_only = {**function.environment, "PYTHONDONTWRITEBYTECODE": "1"}
    return float(_run(replace(function, environment=read_only), TIME_IMPORTS, *modules))


def _run(function: Function, script: str, *arguments: str) -> str:
    """What a script prints in a fresh interpreter that can import what the function can."""
    command = [str(runtime_python()), "-c", script, *arguments]
    environment = environment_variables(function, "127.0.0.1:9")
    done = subprocess.run(command, cwd=function.code, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout
