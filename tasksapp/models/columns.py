"""Kinds of columns: those that only an UPDATE of their own changes, texts that may be empty, marked ones, and codes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar, cast

from django.apps import apps
from django.core.validators import RegexValidator
from django.db import models
from django.db.models import BooleanField, CharField, F, Model, PositiveBigIntegerField, QuerySet
from django.utils.translation import gettext_lazy as _

from delayhub.secrecy import Secrecy
from tasksapp.models.encrypted_text import SealedText

_Row = TypeVar("_Row", bound=Model)

if TYPE_CHECKING:
    from django.db.models.expressions import Combinable
    from django.utils.functional import _StrOrPromise as StrOrPromise

    _Boolean = BooleanField[Any, Any]
    _Number = PositiveBigIntegerField[Any, Any]
else:
    _Boolean = BooleanField
    _Number = PositiveBigIntegerField
Marked = TypeVar("Marked", bound="models.Field[Any, Any]")


class RowRevision(_Number):
    """1 in a new row. Each UPDATE counts it up in the database, so that two at once count twice.

    An instance that was saved keeps the number that it was read with: other columns of it may be as old.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **{"default": 1, "db_default": 1, "editable": False, **kwargs})

    def pre_save(self, model_instance: Model, add: bool) -> Any:
        """The value to write."""
        return super().pre_save(model_instance, add) if add else F(self.attname) + 1

    def deconstruct(self) -> Any:
        """As migrations know it: a plain PositiveBigIntegerField."""
        name, _, args, kwargs = super().deconstruct()
        return name, "django.db.models.PositiveBigIntegerField", args, kwargs


class RevisedRows(QuerySet[_Row]):
    """Rows with a column ``revision``, which an UPDATE of many counts too."""

    def update(self, **values: Any) -> int:
        """How many rows were changed."""
        return super().update(**{"revision": F("revision") + 1, **values})


class LastingFlag(_Boolean):
    """False in a new row. A row that is saved keeps what the database has: the instance may be older than that."""

    def pre_save(self, model_instance: Model, add: bool) -> Any:
        """The value to write: the row's own, unless the row is new."""
        return super().pre_save(model_instance, add) if add else F(self.attname)

    def deconstruct(self) -> Any:
        """As migrations know it: a plain BooleanField."""
        name, _, args, kwargs = super().deconstruct()
        return name, "django.db.models.BooleanField", args, kwargs


def optional_text(
    label: StrOrPromise | None = None, *, longest: int, **options: Any
) -> CharField[str | int | Combinable, str]:
    """A column of a text that may be empty, which it is also in rows that other programs insert.

    Args:
        label: its name for people.
        longest: how many characters it has at most.
        options: what else Django's column takes.
    """
    return CharField(label, max_length=longest, blank=True, default="", db_default="", **options)


def marked(secrecy: Secrecy, field: Marked) -> Marked:
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
    every = {name: text for owner in model.__mro__ for name, text in vars(owner).items()}
    return {name: text.field for name, text in every.items() if isinstance(text, SealedText)}


@cache
def _marks() -> dict[str, Secrecy]:
    return dict(_found())


def _found() -> Iterator[tuple[str, Secrecy]]:
    for model in apps.get_app_config("tasksapp").get_models(include_auto_created=True):
        yield from marked_columns(model).items()
        yield from ((name, Secrecy.SECRET) for name in sealed_texts(model))


_PATTERN = r"\A[a-z0-9][a-z0-9._-]{0,99}\Z"
_CODE = re.compile(_PATTERN)
#: What a code is made of.
CODE = RegexValidator(_PATTERN, _("Use a-z, 0-9, '.', '_' and '-'; begin with a letter or digit."))


def is_code(text: str) -> bool:
    """Whether a biz type or a tenant may have that code."""
    return _CODE.fullmatch(text) is not None
