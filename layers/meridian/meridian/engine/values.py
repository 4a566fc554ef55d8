"""Which values a run may carry: its journal, its snapshot and the archive must be able to hold them."""

from typing import Any

from meridian import jsontext
from meridian.engine.model import NodeFailed
from meridian.text import unstorable

# Characters of text plus values, about the bytes of its JSON: an answer of 1 MiB and what a node puts around it.
MAX_VALUE_SIZE = 1024 * 1024 + 1024
# What came from outside, and as much again for what the nodes put around it.
MAX_VALUE_NESTING = 2 * jsontext.MAX_NESTING


def checked(value: Any, what: str) -> Any:
    """`value` itself.

    :raises NodeFailed: naming `what` when the value is larger than 1 MiB, nested too deeply, or has text
        that PostgreSQL cannot keep.
    """
    if _is_too_large(value):
        raise NodeFailed(f"{what} is larger than 1 MiB")
    if unstorable(value) is not None:
        raise NodeFailed(f"{what} has text that cannot be stored")
    if jsontext.is_nested_too_deeply(value, MAX_VALUE_NESTING):
        raise NodeFailed(f"{what} is nested too deeply")
    try:
        jsontext.serialize(value)
    except (TypeError, ValueError):
        raise NodeFailed(f"{what} is not a JSON value that can be stored") from None
    return value


def _is_too_large(value: Any) -> bool:
    """Counts without recursion and stops at the limit: an expression may repeat a value without end."""
    size = 0
    waiting = [value]
    while waiting:
        item = waiting.pop()
        size += 1
        if isinstance(item, str):
            size += len(item)
        elif isinstance(item, dict):
            size += sum(map(len, item))
            waiting.extend(item.values())
        elif isinstance(item, list):
            waiting.extend(item)
        if size + len(waiting) > MAX_VALUE_SIZE:
            return True
    return False
