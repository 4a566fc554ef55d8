"""Which text PostgreSQL cannot keep."""

from typing import Any


def unstorable(value: Any) -> str | None:
    """The JSON pointer of the first string (or key) in `value` that holds NUL or a lone surrogate, or None.

    Walks without recursion: how deep a value is nested is the sender's choice.
    """
    waiting: list[tuple[str, Any]] = [("", value)]
    while waiting:
        pointer, item = waiting.pop()
        if isinstance(item, str):
            if not storable(item):
                return pointer
        elif isinstance(item, dict):
            for key, member in item.items():
                if not storable(str(key)):
                    return pointer
                waiting.append((f"{pointer}/{str(key).replace('~', '~0').replace('/', '~1')}", member))
        elif isinstance(item, list):
            waiting.extend((f"{pointer}/{number}", member) for number, member in enumerate(item))
    return None


def storable(text: str) -> bool:
    """Whether `text` is neither cut by a NUL nor impossible to encode."""
    if "\0" in text:
        return False
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
