"""Checking what was sent: into a model, or an answer that says which field is wrong."""

from collections.abc import Sequence
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from meridian import jsontext
from meridian.errors import MOST_POINTER_CHARACTERS, FieldError, InvalidInput, MalformedRequest, Place
from meridian.text import unstorable

Model = TypeVar("Model", bound=BaseModel)


def parse_json(content: bytes, *, allow_nan: bool = False) -> Any:
    """JSON that was sent. Raises `MalformedRequest`."""
    try:
        return jsontext.parse_sent(content, allow_nan=allow_nan)
    except ValueError as error:
        raise MalformedRequest(f"The body is not JSON: {error}.") from None


def validated(model: type[Model], value: Any, place: Place) -> Model:
    """`value` as a `model`. Raises `InvalidInput` naming each field by a JSON pointer into `place`."""
    pointer = unstorable(value)
    if pointer is not None:
        detail = "has text that cannot be stored: NUL or a lone surrogate"
        raise invalid([FieldError(place, pointer, detail)])
    try:
        return model.model_validate(value)
    except ValidationError as error:
        raise invalid([_field_error(place, problem) for problem in error.errors(include_input=False)]) from None


def invalid(errors: Sequence[FieldError]) -> InvalidInput:
    """The answer for invalid fields; its detail names the first of them."""
    first = errors[0]
    more = f" (and {len(errors) - 1} more)" if len(errors) > 1 else ""
    pointer = first.pointer[:MOST_POINTER_CHARACTERS]
    return InvalidInput(f"{pointer or first.place}: {first.detail}{more}.", errors=errors)


def _field_error(place: Place, problem: Any) -> FieldError:
    parts = [str(part) for part in problem["loc"] if part != "[key]"]
    pointer = "".join("/" + part.replace("~", "~0").replace("/", "~1") for part in parts)
    message = str(problem["msg"]).removeprefix("Value error, ")
    return FieldError(place, pointer, message[:1].lower() + message[1:])
