"""Which values a run may carry: its journal, its snapshot and the archive must be able to hold them."""

from typing import Any

from meridian import jsontext
from meridian.engine.model import NodeFailed
from meridian.text import unstorable

# Characters of text plus values, about the bytes of its JSON: an answer of 1 MiB and what a node puts around it.
MAX_VALUE_SIZE = 1024 * 1024 + 1024
# What came from outside, and as much again for what the nodes put around it.
MAX_VALUE_NESTING = 2 * jsontext.MAX_NESTING

# What Restate may send to the engine at once: Lambda takes 6 MB, and Restate writes bytes as base64. The rest is for
# what stands around values.
MAX_CARRIED_BYTES = 6_000_000 * 3 // 4 - 300_000
ENTRY_BYTES = 900  # of a visit, beside its values


class Carried:
    """The bytes that a run's values take in what Restate sends to the engine with each attempt.

    The run's input is sent once, and what is kept of its start twice. The answer of a call is sent as it is journalled,
    and what the trace shows of a visit twice: as it was set, and as the state that it is. What a call was given is
    shown while it is at work too, at the tick before it and at the call.
    """

    def __init__(self, run_input: Any, start: Any) -> None:
        self._bytes = _size(run_input) + 2 * _size(start)

    def add(self, shown: Any, answer: Any, output: Any) -> None:
        """Counts a visit. Raises `NodeFailed` when the run becomes larger than can be sent."""
        self._bytes += ENTRY_BYTES + 4 * _size(shown) + _size(answer) + 2 * _size(output)
        if self._bytes > MAX_CARRIED_BYTES:
            raise NodeFailed("the values of the run are too large together")


def _size(value: Any) -> int:
    return 0 if value is None else len(jsontext.serialize(value).encode())


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
