"""What a cold start spends on imports, measured on what is built, in a fresh process for each import.

A function's module is imported as in Lambda: by AWS's runtime client, with the function's own folder and the layer
on the path, from a disk to which nothing is written.

Against its import stands that of the third-party modules it loads. Two processes that import the same differ by more
than is asked for here, so both times are taken in one: the whole import, and in it the time of every import of a module
that the libraries load by themselves. The row is the worst function's, by the median of its ratios.

The import with bytecode stands against the same from a copy of the build without: of all functions together, and of the
one that gains least. What a function spends on Python's own library is bytecode either way.
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
from typing import NamedTuple

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

LIST_LIBRARIES = """
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

LIST_LOADED = """
import json, sys
import awslambdaric.bootstrap
from importlib import import_module
before = set(sys.modules)
for name in json.load(sys.stdin):
    import_module(name)
print(json.dumps([name for name in sys.modules if name not in before]))
"""
"""All that these modules load when they are imported alone: themselves, and modules of the standard library."""

TIME_IMPORT = """
import builtins, json, sys
import awslambdaric.bootstrap
from time import perf_counter
theirs = frozenset(json.load(sys.stdin))
plain, spent = builtins.__import__, 0.0
def timed(name, globals=None, locals=None, fromlist=(), level=0):
    global spent
    if level or name not in theirs:
        return plain(name, globals, locals, fromlist, level)
    builtins.__import__ = plain
    begun = perf_counter()
    try:
        return plain(name, globals, locals, fromlist, level)
    finally:
        spent += perf_counter() - begun
        builtins.__import__ = timed
builtins.__import__ = timed
begun = perf_counter()
import app
print(json.dumps([perf_counter() - begun, spent]))
"""
"""The seconds of the import of a function's module, and those of them that went into the modules given."""


class Import(NamedTuple):
    """Of one import of a function's module: the seconds it took, and those of its libraries."""

    whole: float
    libraries: float

    @property
    def ratio(self) -> float:
        return self.whole / self.libraries


def run() -> list[Row]:
    with built() as build, tempfile.TemporaryDirectory(prefix="meridian-bench-") as folder:
        bare = Path(folder) / "build"
        shutil.copytree(build, bare, ignore=shutil.ignore_patterns("__pycache__"))
        functions, without_bytecode = built_functions(build, SETTINGS), built_functions(bare, SETTINGS)
        # The first import writes the bytecode of what AWS's runtime brings along; AWS ships it.
        theirs = {
            name: _run(function, LIST_LOADED, _run(function, LIST_LIBRARIES)) for name, function in functions.items()
        }
        shipped: dict[str, list[Import]] = {name: [] for name in functions}
        compiled_anew: dict[str, list[Import]] = {name: [] for name in functions}
        for _ in range(ROUNDS):
            for name, function in functions.items():
                shipped[name].append(_import(function, theirs[name]))
                compiled_anew[name].append(_import(without_bytecode[name], theirs[name]))
    middle = {name: sorted(imports, key=lambda one: one.ratio)[ROUNDS // 2] for name, imports in shipped.items()}
    worst = max(middle, key=lambda name: middle[name].ratio)
    quick, slow = _whole(shipped), _whole(compiled_anew)
    least = max(quick, key=lambda name: quick[name] / slow[name])
    return [
        row(
            f"import of a function's module, to its libraries alone; the worst ({worst})",
            middle[worst].whole,
            middle[worst].libraries,
            OWN_LIMIT,
        ),
        row(
            f"import of the {len(functions)} functions' modules with bytecode, to without",
            sum(quick.values()),
            sum(slow.values()),
            BYTECODE_LIMIT,
        ),
        row(f"the same of the function that gains least ({least})", quick[least], slow[least]),
    ]


def _whole(imports: Mapping[str, list[Import]]) -> dict[str, float]:
    """The seconds that each function's import takes, by the median."""
    return {name: median(one.whole for one in of_function) for name, of_function in imports.items()}


def _import(function: Function, libraries: str) -> Import:
    read_only = {**function.environment, "PYTHONDONTWRITEBYTECODE": "1"}
    return Import(*json.loads(_run(replace(function, environment=read_only), TIME_IMPORT, libraries)))


def _run(function: Function, script: str, given: str = "") -> str:
    """What a script prints in a fresh interpreter that can import what the function can."""
    command = [str(runtime_python()), "-c", script]
    environment = environment_variables(function, "127.0.0.1:9")
    done = subprocess.run(
        command, cwd=function.code, env=environment, input=given, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout
