"""Answers of the API, as JSON and for OpenAPI: both follow from the models that clients read them as."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from datetime import datetime, timedelta
from enum import Enum
from functools import cache, partial
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints
from uuid import UUID

from rest_framework import serializers

from tasksapp.models import Operation, Series, Status
from tasksapp.models.api_key import Scope

Field = serializers.Field[Any, Any, Any, Any]
#: Headers of an answer, which are no fields of its JSON.
_HEADERS = frozenset({"etag"})
_FIELDS: Mapping[Any, Callable[..., Field]] = {
    Any: serializers.JSONField,
    bool: serializers.BooleanField,
    datetime: serializers.DateTimeField,
    float: serializers.FloatField,
    int: serializers.IntegerField,
    str: partial(serializers.CharField, allow_blank=True),
}
#: What is JSON already: nearly all values of an answer.
_JSON = frozenset({bool, dict, float, int, list, str, type(None)})
#: The labels of words that people have other words for.
_LABELLED = {
    frozenset(kind.values): kind.choices
    for kind in (Operation.State, Operation.VerbName, Scope, Series.CatchUp, Series.Overlap, Status)
}
#: What describes models that others are made of.
_described: dict[type, type[serializers.Serializer[Any]]] = {}


def json_of(model: type, *sources: object, **given: Any) -> dict[str, Any]:
    """The JSON of an answer: each field of the model as it is given, or as the first source that has it has it."""
    found = {}
    for name in _names(model):
        value = given[name] if name in given else _attribute(sources, name)
        found[name] = value if type(value) in _JSON else _plain(value)
    return found


def serializer_of(
    model: type,
    *,
    name: str = "",
    example: Any,
    own: Mapping[str, Field] | None = None,
    order: Sequence[str] = (),
) -> type[serializers.Serializer[Any]]:
    """What describes answers of the model to OpenAPI.

    Args:
        model: the model, whose fields have types and words.
        name: of the schema, where that is another one than the model's.
        example: an answer.
        own: by name, fields of which there is more to say than their types do.
        order: the names, where JSON has them in another order than the model.
    """
    hints = get_type_hints(model, include_extras=True)
    made: dict[str, Any] = {each: (own or {}).get(each) or _field(hints[each]) for each in order or _names(model)}
    about = {"__doc__": model.__doc__, "example": example}
    _described[model] = type(f"{name or model.__name__}Serializer", (serializers.Serializer,), {**about, **made})
    return _described[model]


@cache
def _names(model: Any) -> tuple[str, ...]:
    return tuple(field.name for field in fields(model) if field.name not in _HEADERS)


def _attribute(sources: tuple[object, ...], name: str) -> Any:
    """That of the first source that has it. Raises AttributeError of the last one."""
    for source in sources[:-1]:
        if hasattr(source, name):
            return getattr(source, name)
    return getattr(sources[-1], name)


def _plain(value: Any) -> Any:
    match value:
        case datetime():
            return timestamp(value)
        case timedelta():
            return value.total_seconds()
        case UUID():
            return str(value)
        case Enum():
            return value.value
    return value


def _field(hint: Any, *, is_id: bool = False, **options: Any) -> Field:  # noqa: PLR0911  a table of types
    """The field for a type; beside it may stand its words, and ``UUID`` where its texts are ids."""
    origin, inner = get_origin(hint), get_args(hint)
    if origin is Annotated:
        words = " ".join(note for note in inner[1:] if isinstance(note, str))
        said = {"help_text": words.replace("None", "Null")} if words else {}
        return _field(inner[0], is_id=UUID in inner, **said, **options)
    if origin in (Union, UnionType):
        (kind,) = (each for each in inner if each is not type(None))
        return _field(kind, is_id=is_id, allow_null=True, **options)
    if origin is Literal:
        return serializers.ChoiceField(choices=_LABELLED.get(frozenset(inner), inner), **options)
    if origin is Sequence:
        if inner[0] in _described:
            return _described[inner[0]](many=True, **options)
        return serializers.ListField(child=_field(inner[0], is_id=is_id), **options)
    if origin is Mapping:
        if inner[1] is not Any:
            options["child"] = _field(inner[1])
        return serializers.DictField(**options)
    kind = _described.get(hint) or (serializers.UUIDField if is_id else _FIELDS[hint])
    return kind(**options)


def timestamp(moment: datetime | None) -> str | None:
    """A moment as ISO 8601 in UTC, to the microsecond."""
    return None if moment is None else moment.isoformat().replace("+00:00", "Z")
