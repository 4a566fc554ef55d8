"""Every fault of a definition at once: its form, its expressions and its graph."""

import re
from collections.abc import Iterator, Mapping
from functools import cache
from itertools import chain, islice
from typing import Any, NamedTuple, cast

from jsonschema import Draft202012Validator, ValidationError
from jsonschema.validators import extend

from meridian.definitions.expressions import ExpressionError, compile_expression
from meridian.definitions.model import spec_hash
from meridian.definitions.schema import document_schema, expressions_of, targets_of

__all__ = ["Problem", "problems"]

Path = tuple[str | int, ...]

_MOST_PROBLEMS = 200  # an author mends the first ones; a hostile document gets no more work out of us
_MOST_MEMBERS = {"nodes": 500, "entries": 50}  # the schema's maxItems, checked before each member is


class Problem(NamedTuple):
    """One fault of a definition."""

    pointer: str  # JSON pointer (RFC 6901) into the document
    detail: str  # a sentence for its author, never with more than a short name of the content


def problems(document: object) -> list[Problem]:
    """What is wrong with a definition, empty when it can be published.

    Checks the JSON Schema, then what it cannot say: ids that occur twice, `next` and `start` that name no
    node, nodes that no path leads to, and expressions that JMESPath does not take. Faults of the form do
    not hide faults of the graph. At most 200 are named.
    """
    try:
        if too_many := list(_too_many(document)):
            return too_many
        found = chain(_form(document), _graph(document), _text(document))
        return list(dict.fromkeys(islice(found, _MOST_PROBLEMS)))
    except RecursionError:
        return [Problem("", "is nested too deeply")]


def _too_many(document: object) -> Iterator[Problem]:
    for name, most in _MOST_MEMBERS.items():
        if len(_members(document, name)) > most:
            yield Problem(f"/{name}", f"has more than {most} items")


# --- the form -----------------------------------------------------------------------------------------------


def _form(document: object) -> Iterator[Problem]:
    for error in _validator().iter_errors(document):
        yield from _translated(error)


@cache
def _validator() -> Any:
    validator: Any = extend(Draft202012Validator, {"pattern": _matches})  # type: ignore[no-untyped-call]
    return validator(document_schema())


def _matches(_validator: Any, pattern: str, instance: object, _schema: Any) -> Iterator[ValidationError]:
    """`pattern` over the whole text: Python's `$` would let a line feed at the end through."""
    if isinstance(instance, str) and not re.fullmatch(pattern.removeprefix("^").removesuffix("$"), instance):
        yield ValidationError("pattern")


def _translated(error: ValidationError) -> Iterator[Problem]:
    """The problems in one error of jsonschema, whose own messages repeat the content at any length."""
    path = tuple(error.absolute_path)
    rule: Any = error.validator
    limit: Any = error.validator_value
    instance: Any = error.instance
    if "propertyNames" in error.absolute_schema_path:
        yield Problem(_pointer((*path, instance)), "is not a name that can stand here")
    elif rule == "required":
        missing = next(name for name in limit if name not in instance and f"'{name}'" in error.message)
        yield Problem(_pointer((*path, missing)), "is required")
    elif rule == "additionalProperties":
        known = cast("dict[str, Any]", error.schema)["properties"]
        for name in instance:
            if name not in known:
                yield Problem(_pointer((*path, name)), "is not a field of this object")
    elif rule == "not":  # the one in the schema: a global value belongs to no subject
        yield Problem(_pointer((*path, "subject")), "has no place in the scope workflow-global")
    else:
        yield Problem(_pointer(path), _sentence(rule, limit, path))


def _sentence(rule: str, limit: Any, path: Path) -> str:
    if rule == "enum" and path[-1] == "type":
        return f"is not a node type; the types are {', '.join(limit)}"
    if rule in ("enum", "type"):
        choices = [limit] if isinstance(limit, str) else limit
        return f"must be {'one of' if rule == 'enum' else 'of type'} {', '.join(choices)}"
    return _LIMITS[rule].format(limit)


_LIMITS: Mapping[str, str] = {
    "pattern": "must match {}",
    "minLength": "must have at least {} character(s)",
    "maxLength": "must have at most {} characters",
    "minItems": "must have at least {} item(s)",
    "maxItems": "must have at most {} items",
    "minProperties": "must have at least {} member(s)",
    "maxProperties": "must have at most {} members",
    "minimum": "must be at least {}",
    "maximum": "must be at most {}",
}


# --- the graph ----------------------------------------------------------------------------------------------


def _graph(document: object) -> Iterator[Problem]:
    nodes, entries = _members(document, "nodes"), _members(document, "entries")
    edges = {node["id"]: [target for _, target in targets_of(node)] for _, node in nodes if _is_id(node)}
    starts: list[tuple[Path, object]] = [(("entries", i, "start"), entry.get("start")) for i, entry in entries]
    if isinstance(document, dict):
        starts.insert(0, (("start",), document.get("start")))
    yield from _doubles("entries", entries)
    yield from _doubles("nodes", nodes)
    yield from (_unknown(place, node) for place, node in starts if isinstance(node, str) and node not in edges)
    for i, node in nodes:
        for place, target in targets_of(node):
            if target not in edges:
                yield _unknown(("nodes", i, *place), target)
    reached = _reachable([node for _, node in starts if isinstance(node, str)], edges)
    for i, node in nodes:
        if _is_id(node) and node["id"] not in reached:
            yield Problem(f"/nodes/{i}", "no path leads to this node")


def _reachable(starts: list[str], edges: Mapping[str, list[str]]) -> set[str]:
    reached: set[str] = set()
    pending = list(starts)
    while pending:
        node = pending.pop()
        if node not in reached:
            reached.add(node)
            pending += edges.get(node, ())
    return reached


def _doubles(name: str, members: list[tuple[int, dict[str, Any]]]) -> Iterator[Problem]:
    seen: set[str] = set()
    for i, member in members:
        if _is_id(member):
            if member["id"] in seen:
                yield Problem(f"/{name}/{i}/id", "occurs twice")
            seen.add(member["id"])


def _unknown(place: Path, target: object) -> Problem:
    return Problem(_pointer(place), f"names no node: {str(target)[:64]}")


# --- the text -----------------------------------------------------------------------------------------------


def _text(document: object) -> Iterator[Problem]:
    for i, entry in _members(document, "entries"):
        if isinstance(entry.get("selector"), str):
            yield from _expression(("entries", i, "selector"), entry["selector"])
    for i, node in _members(document, "nodes"):
        for place, text in expressions_of(node):
            yield from _expression(("nodes", i, *place), text)
    yield from _storable(document)


def _expression(place: Path, text: str) -> Iterator[Problem]:
    if 0 < len(text) <= _LONGEST_EXPRESSION:
        try:
            compile_expression(text)
        except ExpressionError as error:
            yield Problem(_pointer(place), f"JMESPath: {error}")


_LONGEST_EXPRESSION = 4096  # the schema's maxLength, which has named a longer one


def _storable(document: object) -> Iterator[Problem]:
    """The store keeps text without U+0000, and the hash needs numbers and text that RFC 8785 can write."""
    try:
        spec_hash(document)
    except (ValueError, TypeError):
        yield Problem("", "has a number that is out of range, or text that is not Unicode")
    if _holds_nul(document):
        yield Problem("", "has text with the character U+0000")


def _holds_nul(value: object) -> bool:
    match value:
        case str():
            return "\0" in value
        case dict():
            return any("\0" in str(name) or _holds_nul(member) for name, member in value.items())
        case list():
            return any(map(_holds_nul, value))
        case _:
            return False


# --- reading a document that may be anything ----------------------------------------------------------------


def _members(document: object, name: str) -> list[tuple[int, dict[str, Any]]]:
    """The objects in an array of the document, with their places."""
    members = document.get(name) if isinstance(document, dict) else None
    if not isinstance(members, list):
        return []
    return [(i, member) for i, member in enumerate(members) if isinstance(member, dict)]


def _is_id(member: Mapping[str, Any]) -> bool:
    return isinstance(member.get("id"), str)


def _pointer(path: Path) -> str:
    """A JSON pointer, each part cut to 64 characters: parts may be names out of the document."""
    return "".join("/" + str(part)[:64].replace("~", "~0").replace("/", "~1") for part in path)
