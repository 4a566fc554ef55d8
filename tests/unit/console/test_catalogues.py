"""The page's words: the same in every language, all of them used, none of them missing."""

import json
import re
from pathlib import Path

import pytest

STATIC = Path(__file__).resolve().parents[3] / "functions" / "console" / "static"
CATALOGUES = {file.stem: json.loads(file.read_text("utf-8")) for file in sorted((STATIC / "i18n").glob("*.json"))}
SOURCES = "\n".join(file.read_text("utf-8") for file in sorted(STATIC.rglob("*.js")) if file.parent.name != "vendor")
PLURAL = re.compile(r"\.(one|other)$")

FAMILIES = {
    # what stands in place of an expression in a key, as in t(`status.${status}`)
    "delivery", "difference", "events", "failure", "filter", "filter.status", "health", "memory", "nav", "node",
    "route", "run", "runs", "scope", "source", "status", "timeline", "why", "workflow", "workflows", "decide", "resume",
}  # fmt: skip


def test_the_languages_are_english_and_french() -> None:
    assert sorted(CATALOGUES) == ["en", "fr"]


def test_every_catalogue_has_the_same_keys() -> None:
    assert CATALOGUES["fr"].keys() == CATALOGUES["en"].keys()


def test_every_message_has_the_same_values_to_fill_in() -> None:
    def values(message: str) -> list[str]:
        return sorted(re.findall(r"\{(\w+)\}", message))

    english = {key: values(message) for key, message in CATALOGUES["en"].items()}
    assert {key: values(message) for key, message in CATALOGUES["fr"].items()} == english


@pytest.mark.parametrize("language", sorted(CATALOGUES))
def test_no_message_is_empty(language: str) -> None:
    assert [key for key, message in CATALOGUES[language].items() if not message.strip()] == []


def test_every_key_that_the_page_names_exists() -> None:
    named = set(re.findall(r"""\bt\(["']([\w.-]+)["']""", SOURCES))
    known = {PLURAL.sub("", key) for key in CATALOGUES["en"]}
    assert named - known == set()


def test_every_message_is_used() -> None:
    def used(key: str) -> bool:
        name = PLURAL.sub("", key)
        return f'"{name}"' in SOURCES or any(name.startswith(f"{family}.") for family in FAMILIES)

    assert [key for key in CATALOGUES["en"] if not used(key)] == []
    assert [family for family in FAMILIES if f"`{family}.${{" not in SOURCES and f"{family}." not in SOURCES] == []
