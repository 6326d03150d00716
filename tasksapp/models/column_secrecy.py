"""Which columns hold secrets: a mark on the field itself, read by what shows rows or records their changes."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any, TypeVar, cast

from django.apps import apps
from django.db import models

from delayhub.secrecy import Secrecy
from tasksapp.models.encrypted_text import SealedText

F = TypeVar("F", bound="models.Field[Any, Any]")


def marked(secrecy: Secrecy, field: F) -> F:
    """The field, marked: what may be shown of its column to people and callers who may not change the row."""
    cast("Any", field).secrecy = secrecy
    return field


def secrecy_of_column(name: str) -> Secrecy | None:
    """What may be shown of columns of that name, or of a text that is sealed in one; None for those without a mark."""
    return _marks().get(name)


def marked_columns(model: type[models.Model]) -> dict[str, Secrecy]:
    """The marks of a model's columns by their names."""
    marks = {field.name: getattr(field, "secrecy", None) for field in model._meta.concrete_fields}
    return {name: mark for name, mark in marks.items() if isinstance(mark, Secrecy)}


def sealed_texts(model: type[models.Model]) -> dict[str, str]:
    """The names of a model's sealed texts, each with that of the column that holds it."""
    return {name: text.field for name, text in vars(model).items() if isinstance(text, SealedText)}


@cache
def _marks() -> dict[str, Secrecy]:
    return dict(_found())


def _found() -> Iterator[tuple[str, Secrecy]]:
    for model in apps.get_app_config("tasksapp").get_models(include_auto_created=True):
        yield from marked_columns(model).items()
        yield from ((name, Secrecy.SECRET) for name in sealed_texts(model))
