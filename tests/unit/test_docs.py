"""What the documentation promises of this repository: links, settings, commands, versions, and no stranger's places."""

from __future__ import annotations

import ast
import re
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from urllib.parse import unquote

import pytest

ROOT = Path(__file__).resolve().parents[2]

FENCED = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#+ +(.+?)\s*$", re.MULTILINE)
MAKE = re.compile(r"(?:`|^)make ([a-z-]+)", re.MULTILINE)
TARGET = re.compile(r"^([a-z-]+):", re.MULTILINE)
PIN = re.compile(r"^([a-z0-9-]+)(?:\[[a-z0-9,-]+\])?==(\S+)$", re.MULTILINE)
NAME = re.compile(r"[A-Z][A-Z0-9_]{2,}")

READERS = ("text", "url", "required", "required_url", "whole_number", "flag", "get", "setdefault")
"""Methods of `Settings` and of an environment that take a variable's name."""
RUNTIME = {"AWS_REGION"}
"""What AWS's SDK and runtime read for themselves, and this code passes on."""
STRANGE = ("../" + "shared", "/" + "work/", "registry." + "npmjs", "pypi." + "org/simple", "files." + "pythonhosted")
TEXT_FILES = {".py", ".md", ".yaml", ".yml", ".toml", ".json", ".txt", ".sql", ".sh", ".js", ".html", ".css", ""}
NOT_OURS = ("package-lock.json", "functions/console/static/vendor/")
REQUIREMENTS = (
    "layers/meridian/requirements.txt",
    "functions/engine/requirements.txt",
    "local/requirements.txt",
    "local/requirements-lambda.txt",
)


@cache
def files() -> tuple[str, ...]:
    """The files of this repository, those that are not committed yet included."""
    command = ["git", "-C", str(ROOT), "ls-files", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, capture_output=True, text=True, check=False)
    assert listed.returncode == 0, listed.stderr
    return tuple(name for name in listed.stdout.splitlines() if (ROOT / name).is_file())


def read(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def pages() -> list[str]:
    return [name for name in files() if name.endswith(".md")]


def anchors(page: str) -> set[str]:
    """The anchors of a page's headings, as GitHub makes them."""
    headings = HEADING.findall(FENCED.sub("", read(page)))
    return {re.sub(r"[^\w\- ]", "", heading).strip().lower().replace(" ", "-") for heading in headings}


def broken_links(page: str) -> Iterator[str]:
    for link in LINK.findall(FENCED.sub("", read(page))):
        if re.match(r"[a-z]+:", link):
            continue
        path, _, anchor = unquote(link).partition("#")
        target = ((ROOT / page).parent / path).resolve() if path else ROOT / page
        leads = target.is_relative_to(ROOT) and target.exists()
        if not leads or (anchor and anchor not in anchors(target.relative_to(ROOT).as_posix())):
            yield link


@pytest.mark.parametrize("page", pages())
def test_every_link_leads_somewhere(page: str) -> None:
    assert list(broken_links(page)) == []


def test_the_index_names_every_page() -> None:
    pages_of_docs = {Path(name).name for name in pages() if Path(name).parent == Path("docs")} - {"README.md"}

    assert pages_of_docs <= set(LINK.findall(read("docs/README.md")))


def variables_of(source: str) -> set[str]:
    """The variables that Python code reads of its environment, by the ways in which this code reads them."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(source)):
        arguments: list[ast.expr] = []
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in READERS:
            arguments = node.args[:1]
        elif isinstance(node, ast.Subscript) and ast.unparse(node.value) in ("os.environ", "environment"):
            arguments = [node.slice]
        elif isinstance(node, ast.Compare) and "environ" in ast.unparse(node.comparators[0]):
            arguments = [node.left]
        elif isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "PASSED_ON":
            arguments = [part for part in ast.walk(node.value) if isinstance(part, ast.expr)]
        texts = (part.value for part in arguments if isinstance(part, ast.Constant))
        names |= {text for text in texts if isinstance(text, str) and NAME.fullmatch(text)}
    return names


def code() -> list[str]:
    return [n for n in files() if n.endswith(".py") and n.startswith(("layers/", "functions/", "local/"))]


def test_variables_are_found_however_they_are_read() -> None:
    source = """
settings.text("ONE"); environment.get("TWO"); os.environ["THREE"]; x = "FOUR" in os.environ
PASSED_ON = frozenset({"FIVE"}); settings.required_url("SIX", "what"); headers.get("content-type")
"""
    assert variables_of(source) == {"ONE", "TWO", "THREE", "FOUR", "FIVE", "SIX"}


def test_every_variable_that_the_code_reads_is_documented() -> None:
    read_somewhere = set[str]().union(*(variables_of(read(name)) for name in code()))

    assert {"RUN_DB_URL", "RESTATE_URL", "PORT", "HTTP_PROXY"} <= read_somewhere
    documented = set(re.findall(r"`([A-Z][A-Z0-9_]+)`", read("docs/configuration.md")))
    assert read_somewhere - RUNTIME - documented == set()


def test_every_variable_of_the_template_is_documented() -> None:
    declared = set(re.findall(r"^ {8,12}([A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+):", read("template.yaml"), re.MULTILINE))

    assert "RUN_DB_URL" in declared
    assert declared - set(re.findall(r"`([A-Z][A-Z0-9_]+)`", read("docs/configuration.md"))) == set()


def test_every_documented_variable_is_somewhere_in_the_code() -> None:
    """A variable that was removed does not stay in the table."""
    rows = re.findall(r"^\| ((?:`[A-Z][A-Z0-9_]+`(?:, )?)+) \|", read("docs/configuration.md"), re.MULTILINE)
    documented = {name for row in rows for name in re.findall(r"`([A-Z0-9_]+)`", row)}
    everything = "".join(map(read, [*code(), "template.yaml"]))

    assert documented
    of_powertools = {"LOG_LEVEL", "POWERTOOLS_METRICS_NAMESPACE"}
    assert {name for name in documented if name not in everything} <= of_powertools


def test_every_make_target_that_a_page_names_exists() -> None:
    targets = set(TARGET.findall(read("Makefile")))
    named = {target for page in pages() for target in MAKE.findall(read(page))}

    assert {"run", "test"} <= named
    assert named - targets == set()


def test_dependencies_are_documented_with_their_versions() -> None:
    page = read("docs/dependencies.md")

    for file in REQUIREMENTS:
        for name, version in PIN.findall(read(file)):
            assert re.search(rf"\[{re.escape(name)}\][^|]*\| {re.escape(version)} \|", page), f"{name} {version}"
    for name, version in PIN.findall(read("requirements-dev.txt") + read("requirements-audit.txt")):
        if not name.startswith(("types-", "boto3-stubs")):
            assert re.search(rf"{re.escape(name)}(?:\]\([^)]*\) \||) {re.escape(version)}\b", page), f"{name} {version}"


def test_no_file_names_a_place_that_only_somebody_elses_machine_has() -> None:
    named = [
        f"{name}: {place}"
        for name in files()
        if Path(name).suffix in TEXT_FILES and not name.startswith(NOT_OURS)
        for place in STRANGE
        if place in (ROOT / name).read_text(encoding="utf-8", errors="replace")
    ]
    assert named == []
