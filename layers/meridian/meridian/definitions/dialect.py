"""The dialect of JMESPath that definitions are written in: exact on decimal numbers.

The numbers of an event are :class:`decimal.Decimal` (see ``meridian.jsontext``), which the ``jmespath``
package does not know: its literals are floats, and its functions take ``int`` and ``float`` alone. Here
``event.data.value == `6.1``` is true for the decimal 6.1, and ``sum``, ``avg``, ``abs``… are decimal.

Two readings of the JMESPath specification are stricter than that package's: a literal between backquotes
must be JSON (``'text'`` is the string), and ordering a string against a number is null, not an error.
The package has no public seams for this; the members of its classes that are relied on are declared.
"""

import decimal
from collections.abc import Callable
from decimal import Decimal
from typing import Any

from jmespath import exceptions, functions, lexer, parser, visitor

from meridian.jsontext import InvalidJson, parse, serialize

__all__ = ["FUNCTIONS", "parse_tree", "type_name", "visit"]

# Sums are exact up to 100 digits; a mean is rounded to the 28 digits that are Python's default.
_EXACT = decimal.Context(prec=100, traps=[decimal.Overflow, decimal.InvalidOperation])
_MEAN = decimal.Context(prec=28, traps=[decimal.Overflow, decimal.InvalidOperation])
_LONGEST_INTEGER = 100  # digits; 1E+999999999 stays a decimal instead of filling the memory

Number = int | float | Decimal


def parse_tree(text: str) -> Any:
    """The syntax tree of an expression. :raises jmespath.exceptions.ParseError: and the package's others."""
    return _Parser().parse(text).parsed


def visit(tree: Any, scope: Any) -> Any:
    """The value of a syntax tree in `scope`."""
    return _Interpreter(_OPTIONS).visit(tree, scope)


def type_name(name: str) -> str:
    """JMESPath's name of a type, from Python's or already its own."""
    return "number" if name == "Decimal" else functions.TYPES_MAP.get(name, name)


class _Lexer(lexer.Lexer):
    """Reads a literal as our JSON: its digits are kept, and what is not JSON is an error."""

    _position: int
    _consume_until: Callable[[str], str]

    def _consume_literal(self) -> dict[str, Any]:
        start = self._position
        lexeme = self._consume_until("`").replace("\\`", "`")
        try:
            value = parse(lexeme)
        except InvalidJson:
            raise exceptions.LexerError(start, "", "not JSON") from None
        return {"type": "literal", "value": value, "start": start, "end": self._position - start}


class _Parser(parser.Parser):
    _expression: Callable[..., Any]
    _current_token: Callable[[], str]
    _lookahead_token: Callable[[int], dict[str, Any]]
    _tokens: list[Any]
    _index: int
    _CACHE: dict[str, Any] = {}  # noqa: RUF012 - not the package's: the same text has another tree there

    def _parse(self, expression: str) -> Any:
        self._tokens = list(_Lexer().tokenize(expression))
        self._index = 0
        tree = self._expression(binding_power=0)
        if self._current_token() != "eof":
            token = self._lookahead_token(0)
            raise exceptions.ParseError(token["start"], "", token["type"])
        return parser.ParsedResult(expression, tree)


class _Interpreter(visitor.TreeInterpreter):
    def visit_comparator(self, node: Any, value: Any) -> Any:
        """Ordering is of two numbers or of two strings; of anything else it is null."""
        left, right = (self.visit(child, value) for child in node["children"])
        comparable = (_is_number(left) and _is_number(right)) or (isinstance(left, str) and isinstance(right, str))
        if node["value"] in ("eq", "ne") or comparable:
            return self.COMPARATOR_FUNC[node["value"]](left, right)
        return None


class _Functions(functions.Functions):
    """JMESPath's functions on decimals. What is not here works on them as it is."""

    def _get_allowed_pytypes(self, types: list[str]) -> tuple[list[str], list[tuple[str, ...]]]:
        allowed, subtypes = super()._get_allowed_pytypes(types)  # type: ignore[misc]
        if "float" in allowed:
            allowed = [*allowed, "Decimal"]
        return allowed, [(*names, "Decimal") if "float" in names else names for names in subtypes]

    def _convert_to_jmespath_type(self, pyobject: str) -> str:
        return type_name(pyobject)

    @functions.signature({"types": ["number"]})
    def _func_abs(self, arg: Number) -> Number:
        return arg.copy_abs() if isinstance(arg, Decimal) else abs(arg)

    @functions.signature({"types": ["array-number"]})
    def _func_sum(self, arg: list[Any]) -> Any:
        return _sum(arg)

    @functions.signature({"types": ["array-number"]})
    def _func_avg(self, arg: list[Any]) -> Any:
        return _MEAN.divide(_decimal(_sum(arg)), Decimal(len(arg))) if arg else None

    @functions.signature({"types": ["number"]})
    def _func_ceil(self, arg: Number) -> int | Decimal:
        return _whole(arg, decimal.ROUND_CEILING)

    @functions.signature({"types": ["number"]})
    def _func_floor(self, arg: Number) -> int | Decimal:
        return _whole(arg, decimal.ROUND_FLOOR)

    @functions.signature({"types": []})
    def _func_to_number(self, arg: Any) -> Any:
        """A number as it is; a string that is a JSON number, with its digits; else null."""
        if isinstance(arg, str):
            try:
                arg = parse(arg)
            except InvalidJson:
                return None
        return arg if _is_number(arg) else None

    @functions.signature({"types": []})
    def _func_to_string(self, arg: Any) -> str:
        return arg if isinstance(arg, str) else serialize(arg)

    @functions.signature({"types": []})
    def _func_type(self, arg: Any) -> str:
        return self._convert_to_jmespath_type(type(arg).__name__)

    @functions.signature({"types": ["array", "string"]}, {"types": []})
    def _func_contains(self, subject: Any, search: Any) -> bool:
        return search in subject if isinstance(subject, list) else isinstance(search, str) and search in subject


_OPTIONS = visitor.Options(custom_functions=_Functions())
FUNCTIONS: dict[str, Any] = _Functions.FUNCTION_TABLE
"""Each function with its signature."""


def _sum(numbers: list[Any]) -> Any:
    if all(isinstance(number, int) for number in numbers):
        return sum(numbers)
    total = Decimal(0)
    for number in numbers:
        total = _EXACT.add(total, _decimal(number))
    return total


def _whole(number: Number, rounding: str) -> int | Decimal:
    if isinstance(number, int):
        return number
    whole = _decimal(number).to_integral_value(rounding)
    return int(whole) if whole.adjusted() < _LONGEST_INTEGER else whole


def _decimal(number: Number) -> Decimal:
    """`number` as a decimal; a float, from a caller who read JSON otherwise, by its shortest digits."""
    return Decimal(repr(number)) if isinstance(number, float) else Decimal(number)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | Decimal) and not isinstance(value, bool)
