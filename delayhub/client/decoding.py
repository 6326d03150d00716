"""Values of the models from the JSON of answers, by the models' annotations."""

from __future__ import annotations

import types
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, fields, is_dataclass
from datetime import datetime
from functools import cache
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

from delayhub.client.errors import UnexpectedAnswer

T = TypeVar("T")


def decode(model: type[T], value: Any, *, etag: str = "") -> T:
    """The model with the answer's values. Fields that the model does not know are left out: a newer site has more.

    Args:
        model: the class.
        value: the JSON.
        etag: from the answer's header, for models that have it.

    Raises UnexpectedAnswer where a field is missing, or a value cannot be what the model says.
    """
    try:
        annotation: Any = model
        decoded: T = decoder(annotation)({**value, "etag": etag})
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise UnexpectedAnswer(
            f"the answer is no {model.__name__} as this client knows it ({type(error).__name__}: {error}): is another"
            " version of DelayHub at that address?"
        ) from error
    return decoded


@cache
def decoder(annotation: Any) -> Callable[[Any], Any]:
    """What makes a value of that annotation from JSON."""
    if annotation is datetime:
        return datetime.fromisoformat
    if isinstance(annotation, type) and is_dataclass(annotation):
        return _of_dataclass(annotation)
    origin, inner = get_origin(annotation), get_args(annotation)
    if origin in (Union, types.UnionType):
        (given,) = [decoder(kind) for kind in inner if kind is not type(None)]
        return lambda value: None if value is None else given(value)
    if origin is Sequence:
        each = decoder(inner[0])
        return lambda value: [each(entry) for entry in value]
    if origin is Mapping:
        of_key = decoder(inner[1])
        return lambda value: {name: of_key(entry) for name, entry in value.items()}
    return _as_it_is


def _of_dataclass(model: type) -> Callable[[Any], Any]:
    hints = get_type_hints(model)
    each = [
        (field.name, decoder(hints[field.name]), field.default is MISSING and field.default_factory is MISSING)
        for field in fields(model)
    ]

    def make(value: Mapping[str, Any]) -> Any:
        return model(**{name: of(value[name]) for name, of, required in each if required or name in value})

    return make


def _as_it_is(value: Any) -> Any:
    return value
