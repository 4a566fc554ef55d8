"""The form of a definition: its JSON Schema, and which fields of a node are expressions or node ids.

`definition.schema.json` is the published form, for editors and for `validation`. The two tables name, per
node type, what the schema cannot say: fields whose text is JMESPath, and fields that name the next node.
A path is a field, ``*`` stands for every member of an object or an array.
"""

import json
from collections.abc import Iterator, Mapping
from importlib import resources
from typing import Any

__all__ = ["document_schema", "expressions_of", "targets_of"]

_ADDRESS = ("key",)

_EXPRESSIONS: Mapping[str, tuple[str, ...]] = {
    "set": ("values/*",),
    "choice": ("branches/*/when",),
    "validation": ("message",),
    "http": ("url", "headers/*", "body"),
    "memory.read": _ADDRESS,
    "memory.write": (*_ADDRESS, "value", "expectedVersion"),
    "memory.forget": (*_ADDRESS, "expectedVersion"),
    "end": ("output",),
}

_TARGETS: Mapping[str, tuple[str, ...]] = {
    "set": ("next",),
    "choice": ("branches/*/next", "otherwise"),
    "validation": ("outcomes/*",),
    "wait": ("next", "onTimeout"),
    "http": ("next",),
    "memory.read": ("next",),
    "memory.write": ("next", "onConflict"),
    "memory.forget": ("next", "onConflict"),
}


def document_schema() -> dict[str, Any]:
    """The JSON Schema (draft 2020-12) of a definition."""
    text = resources.files(__package__).joinpath("definition.schema.json").read_text("utf-8")
    schema: dict[str, Any] = json.loads(text)
    return schema


def expressions_of(node: Mapping[str, Any]) -> Iterator[tuple[tuple[str | int, ...], str]]:
    """Each expression of a node, valid or not, with its path inside the node."""
    return _texts(node, _EXPRESSIONS)


def targets_of(node: Mapping[str, Any]) -> Iterator[tuple[tuple[str | int, ...], str]]:
    """Each node id that a node goes on to, with its path inside the node."""
    return _texts(node, _TARGETS)


def _texts(
    node: Mapping[str, Any], table: Mapping[str, tuple[str, ...]]
) -> Iterator[tuple[tuple[str | int, ...], str]]:
    kind = node.get("type")
    for path in table.get(kind, ()) if isinstance(kind, str) else ():
        for place, value in _select(node, path.split("/"), ()):
            if isinstance(value, str):
                yield place, value


def _select(value: Any, path: list[str], place: tuple[str | int, ...]) -> Iterator[tuple[tuple[str | int, ...], Any]]:
    if not path:
        yield place, value
        return
    head, *rest = path
    members: list[tuple[str | int, Any]] = []
    if head != "*":
        members = [(head, value[head])] if isinstance(value, dict) and head in value else []
    elif isinstance(value, dict):
        members = list(value.items())
    elif isinstance(value, list):
        members = list(enumerate(value))
    for name, member in members:
        yield from _select(member, rest, (*place, name))
