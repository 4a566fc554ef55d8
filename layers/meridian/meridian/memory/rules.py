"""The rules of workflow memory: what it takes, and what a refused write was.

What checks a field raises `ValueError` with what is wrong with it.
"""

from decimal import Decimal
from typing import Any

from meridian import jsontext
from meridian.errors import PayloadTooLarge
from meridian.memory.model import NO_ITEM, Conflicted, Current, Scope, Write, Written

MAX_VALUE_BYTES = 256 * 1024
MAX_KEY_CHARACTERS = 200
# As long as those of events. The columns of an address are one index entry, of which PostgreSQL takes 2,700 bytes:
# four to a character.
MAX_KIND_CHARACTERS = 64
MAX_SUBJECT_CHARACTERS = 256
MAX_WORKFLOW_CHARACTERS = 100

MAX_TYPE_BYTES = 16 * 1024
# What JSONB takes is bounded too: by the server's stack, and by the exponents of its numbers.
MAX_TYPE_DEPTH = 64
MAX_TYPE_EXPONENT = 1000

# The parts of an address that a scope has; the others are left out.
PARTS: dict[Scope, frozenset[str]] = {
    "workflow": frozenset({"subjectKind", "subjectId", "workflow"}),
    "subject": frozenset({"subjectKind", "subjectId"}),
    "workflow-global": frozenset({"workflow"}),
}


def check_part(scope: Scope, part: str, value: str) -> None:
    """A part of an address is given where the scope has it, and left out (or empty) where it has not."""
    if part in PARTS[scope] and not value:
        raise ValueError(f"is required for scope {scope}")
    if part not in PARTS[scope] and value:
        raise ValueError(f"must be left out for scope {scope}")


def value_text(value: Any) -> str:
    """A value as it is stored: JSON text of at most 256 KiB of UTF-8. Raises `PayloadTooLarge`."""
    text = _json_text(value)
    if len(text.encode()) > MAX_VALUE_BYTES:
        raise PayloadTooLarge("The value is larger than 256 KiB of JSON.")
    return text


def _is_out_of_range(number: Decimal) -> bool:
    """JSONB takes numbers of many digits, and not of any number of them."""
    exponent = number.as_tuple().exponent
    return not isinstance(exponent, int) or max(abs(number.adjusted()), abs(exponent)) > MAX_TYPE_EXPONENT


def type_text(value: Any) -> str:
    """A TypeRef as it is stored: JSON text that JSONB can hold."""
    waiting = [(value, 0)]
    while waiting:
        part, depth = waiting.pop()
        if depth > MAX_TYPE_DEPTH:
            raise ValueError(f"is nested more than {MAX_TYPE_DEPTH} deep")
        if isinstance(part, Decimal) and _is_out_of_range(part):
            raise ValueError("holds a number that is out of range")
        if isinstance(part, dict):
            waiting.extend((member, depth + 1) for member in part.values())
        elif isinstance(part, list):
            waiting.extend((member, depth + 1) for member in part)
    text = _json_text(value)
    if len(text.encode()) > MAX_TYPE_BYTES:
        raise ValueError(f"is larger than {MAX_TYPE_BYTES // 1024} KiB of JSON")
    return text


def verdict_on_refusal(write: Write, current: Current | None) -> Written | Conflicted | None:
    """What a refused write was, from the item that is there now.

    Written by the same run and node path, it is the retry of a write that happened: a success. Otherwise a
    conflict with the current version. None where what refused it is gone meanwhile: the write is tried again.
    """
    visit = (write.written_by.run, write.written_by.node)
    if current is not None and (current.run, current.node) == visit:
        return Written(current.version, current.expires_at)
    version = current.version if current is not None else NO_ITEM
    # Without a condition only a retry is refused; and a condition that holds now did not hold then.
    if write.expected_version is None or write.expected_version == version:
        return None
    return Conflicted(version)


def _json_text(value: Any) -> str:
    try:
        return jsontext.serialize(value)
    except (TypeError, ValueError) as error:
        raise ValueError(f"cannot be kept: {error}") from None
