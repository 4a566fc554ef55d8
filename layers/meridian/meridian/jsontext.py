"""JSON text in and out without losing a digit.

Event data, node outputs and memory values are medical measurements: ``6.10`` says that two decimals
were measured and must leave as it came. Standard ``json`` reads it as the float ``6.1``. Here a number
with a fraction or an exponent becomes a :class:`decimal.Decimal`, which is written back digit for digit.
"""

from decimal import Decimal, DecimalException
from typing import Any, NoReturn

import simplejson

__all__ = ["MAX_NESTING", "InvalidJson", "embedded", "is_nested_too_deeply", "parse", "parse_sent", "serialize"]

# Levels of arrays and objects. Far from where the interpreters give up (at 1,000 calls in Python 3.11), so that what
# is taken in can be put into a row, a run and a snapshot, be read again there, and by the next release of Python.
MAX_NESTING = 200


class InvalidJson(ValueError):
    """The text is not JSON. The message names the position and never repeats the content."""


def parse(text: str | bytes, *, allow_nan: bool = False) -> Any:
    """The value of a JSON text: integers as ``int``, other numbers as ``Decimal``.

    Bytes are read as UTF-8. A key that occurs twice keeps its last value. Lone surrogates and NUL
    inside strings are let through: whoever stores the value knows whether it can hold them. So are ``NaN`` and
    ``Infinity`` with ``allow_nan``, as ``float``, for a caller who then names the field.

    :raises InvalidJson: for anything that is not one JSON value, for ``NaN`` and ``Infinity``, for an integer
        of more than 4,300 digits, for an exponent that no decimal has, and for nesting deeper than the
        interpreter allows.
    """
    try:
        if isinstance(text, bytes):
            text = text.decode("utf-8")
        return (_LENIENT_DECODER if allow_nan else _DECODER).decode(text)
    except simplejson.JSONDecodeError as error:
        raise InvalidJson(f"not JSON at line {error.lineno}, column {error.colno}") from None
    except UnicodeDecodeError as error:
        raise InvalidJson(f"not UTF-8 at byte {error.start}") from None
    except RecursionError:
        raise InvalidJson("nested too deeply") from None
    except ValueError:  # the interpreter's limit on the digits of an integer
        raise InvalidJson("a number is too long") from None
    except DecimalException:
        raise InvalidJson("a number is out of range") from None


def parse_sent(text: bytes, *, allow_nan: bool = False) -> Any:
    """The value of a JSON text that came from outside: at most `MAX_NESTING` levels deep.

    :raises InvalidJson: as `parse` does, and for deeper nesting.
    """
    value = parse(text, allow_nan=allow_nan)
    # Each level has an opening bracket: most texts have too few for the walk to be needed.
    if text.count(b"[") + text.count(b"{") > MAX_NESTING and is_nested_too_deeply(value, MAX_NESTING):
        raise InvalidJson("nested too deeply")
    return value


def is_nested_too_deeply(value: Any, most: int) -> bool:
    """Whether arrays and objects stand in each other more than `most` levels deep."""
    level = [value] if isinstance(value, dict | list) else []
    for _ in range(most):
        if not level:
            return False
        within = (item.values() if isinstance(item, dict) else item for item in level)
        level = [member for members in within for member in members if isinstance(member, dict | list)]
    return bool(level)


def serialize(value: Any) -> str:
    """The compact JSON text of a value, non-ASCII as it is.

    :raises ValueError: for a number that is not finite and for nesting deeper than the interpreter allows.
    :raises TypeError: for a value that JSON cannot express.
    """
    try:
        return _ENCODER.encode(value)
    except RecursionError:
        raise ValueError("nested too deeply") from None
    except (TypeError, ValueError) as error:  # made anew: simplejson notes the keys on the way to the value
        raise type(error)(*error.args) from None


def embedded(text: str) -> Any:
    """A value that `serialize` writes as this JSON text, as it is: for what was kept as text and is not looked into."""
    return simplejson.RawJSON(text)


def _refuse(value: object) -> NoReturn:
    """Names the type alone: simplejson's own message repeats the value."""
    raise TypeError(f"{type(value).__name__} is not a JSON value")


# Made once: simplejson's own functions make one for each call.
_DECODER = simplejson.JSONDecoder(parse_float=Decimal)
_LENIENT_DECODER = simplejson.JSONDecoder(parse_float=Decimal, allow_nan=True)
_ENCODER = simplejson.JSONEncoder(
    use_decimal=True,
    ensure_ascii=False,
    separators=(",", ":"),
    allow_nan=False,
    namedtuple_as_object=False,
    default=_refuse,
)
