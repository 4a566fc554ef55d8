"""The expressions of definitions: JMESPath over ``{event, nodes, run}``.

A function is checked where it is written, so that a wrong name or number of arguments is refused when the
definition is published and not on the night when a result is abnormal. No message of an error holds a
value that an expression was applied to: it may be a subject's.
"""

import decimal
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any, NoReturn

from jmespath import exceptions

from meridian.definitions.dialect import FUNCTIONS, parse_tree, type_name, visit

__all__ = ["Expression", "ExpressionError", "compile_expression", "evaluate", "is_true", "selects"]


class ExpressionError(ValueError):
    """An expression cannot be read, or cannot be applied. The message holds no value it was applied to."""


class Expression:
    """A compiled expression."""

    def __init__(self, tree: Any) -> None:
        self._tree = tree

    def search(self, scope: Mapping[str, Any]) -> Any:
        """The value of the expression in `scope`; null where the scope has nothing.

        :raises ExpressionError: where a function gets a type it does not take, or a number overflows.
        """
        try:
            return visit(self._tree, scope)
        except exceptions.JMESPathTypeError as error:
            expected = " or ".join(error.expected_types)
            raise ExpressionError(
                f"{error.function_name}() takes {expected}, not {type_name(error.actual_type)}"
            ) from None
        except RecursionError:
            raise ExpressionError("the expression goes too deep") from None
        except decimal.DecimalException:
            raise ExpressionError("a number is out of range") from None
        except (TypeError, ValueError, AttributeError):
            raise ExpressionError("the expression does not apply to these values") from None


@lru_cache(maxsize=1024)
def compile_expression(text: str) -> Expression:
    """The compiled form of `text`.

    :raises ExpressionError: saying what is wrong and, where it is known, at which column (from 1).
    """
    try:
        tree = parse_tree(text)
    except exceptions.EmptyExpressionError:
        raise ExpressionError("is empty") from None
    except exceptions.ParseError as error:
        if error.lex_position >= len(text):
            raise ExpressionError("ends too early") from None
        raise ExpressionError(f"syntax error at column {error.lex_position + 1}") from None
    except RecursionError:
        raise ExpressionError("is nested too deeply") from None
    except (TypeError, ValueError, IndexError):
        raise ExpressionError("syntax error") from None
    _check(tree)
    return Expression(tree)


def evaluate(text: str, scope: Mapping[str, Any]) -> Any:
    """The value of the expression `text` in `scope`. :raises ExpressionError: see `Expression.search`."""
    return compile_expression(text).search(scope)


def selects(selector: str | None, event: Mapping[str, Any]) -> bool:
    """Whether an entry with this selector takes the event.

    No selector takes every event of the type. JMESPath's truth: null, false, `""`, `[]` and `{}` are
    false, all else is true, 0 too. A selector that fails on this event does not take it.
    """
    if selector is None:
        return True
    try:
        return is_true(evaluate(selector, {"event": event, "nodes": {}, "run": {}}))
    except ExpressionError:
        return False


def is_true(value: Any) -> bool:
    """JMESPath's truth of a value."""
    return value is not None and value is not False and (not isinstance(value, str | list | dict) or bool(value))


def _check(tree: Any) -> None:
    """Refuses an unknown function, a wrong number of arguments, a slice by 0, and a stray `&expression`."""
    for node, allows_reference in _walk(tree):
        if node["type"] == "expref" and not allows_reference:
            _refuse("has an & where no expression is taken")
        if node["type"] == "slice" and node["children"][2] == 0:
            _refuse("has a slice with step 0")
        if node["type"] == "function_expression":
            _check_call(node["value"], node["children"])


def _check_call(name: str, arguments: list[Any]) -> None:
    function = FUNCTIONS.get(name)
    if function is None:
        _refuse(f"calls an unknown function, {name[:40]}()")
    takes = function["signature"]
    variadic = takes[-1].get("variadic", False)
    if len(arguments) < len(takes) or (len(arguments) > len(takes) and not variadic):
        _refuse(f"calls {name}() with {len(arguments)} argument(s), it takes {len(takes)}{' or more' * variadic}")
    for argument, parameter in zip(arguments, takes, strict=False):
        if ("expref" in parameter["types"]) != (argument["type"] == "expref"):
            _refuse(f"calls {name}() {'with' if argument['type'] == 'expref' else 'without'} an &expression")


def _walk(tree: Any) -> Iterator[tuple[Any, bool]]:
    """Every node of the tree, with whether an `&expression` may stand there."""
    pending = [(tree, False)]
    while pending:
        node, allows_reference = pending.pop()
        yield node, allows_reference
        is_call = node["type"] == "function_expression"
        pending += [(child, is_call) for child in node.get("children", ()) if isinstance(child, dict)]


def _refuse(problem: str) -> NoReturn:
    raise ExpressionError(problem)
