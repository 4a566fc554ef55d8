"""A valid definition as a value, and its hash."""

import hashlib
from collections.abc import Mapping
from decimal import Decimal
from typing import Any, NamedTuple, Self

import rfc8785

__all__ = ["Definition", "Entry", "spec_hash"]


class Entry(NamedTuple):
    """What starts a run of the workflow."""

    id: str
    event: str  # the event type it takes
    selector: str | None  # JMESPath that must hold, None takes every event of the type
    start: str  # id of the node it starts at: its own, else the definition's


class Definition(NamedTuple):
    """A workflow as published. Made from a document that `validation.problems` finds no fault with."""

    name: str
    description: str | None
    entries: tuple[Entry, ...]  # in the document's order: the first that takes an event is the trigger
    start: str  # id of the first node of a run without an entry of its own
    nodes: Mapping[str, Mapping[str, Any]]  # the document's nodes by id
    document: Mapping[str, Any]  # as it was published

    @classmethod
    def parse(cls, document: Mapping[str, Any]) -> Self:
        """The definition in a valid document; what a broken document gives is undefined."""
        start: str = document["start"]
        return cls(
            name=document["name"],
            description=document.get("description"),
            entries=tuple(
                Entry(entry["id"], entry["event"], entry.get("selector"), entry.get("start", start))
                for entry in document["entries"]
            ),
            start=start,
            nodes={node["id"]: node for node in document["nodes"]},
            document=document,
        )


def spec_hash(document: object) -> str:
    """SHA-256, in hexadecimal, of the document's canonical JSON (RFC 8785).

    The order of keys and the spelling of numbers (``1.0``, ``1``) make no difference.

    :raises ValueError: for what RFC 8785 cannot write: a number beyond a double, a lone surrogate.
    """
    return hashlib.sha256(rfc8785.dumps(_doubles(document))).hexdigest()


_EXACT_INTEGERS = 2**53 - 1


def _doubles(value: Any) -> Any:
    """The value with RFC 8785's numbers: IEEE 754 doubles, of which small integers stay integers."""
    match value:
        case dict():
            return {name: _doubles(member) for name, member in value.items()}
        case list():
            return [_doubles(member) for member in value]
        case bool():
            return value
        case Decimal():
            return _double(value)
        case int() if abs(value) > _EXACT_INTEGERS:
            return _double(value)
        case _:
            return value


def _double(number: int | Decimal) -> float:
    try:
        return float(number)
    except OverflowError:
        raise ValueError("a number is out of range") from None
