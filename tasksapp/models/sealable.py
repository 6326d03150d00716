"""Columns that may hold values encrypted at rest: read as an attribute such a value is open, stored it stays as it is.

``vars(row)`` has what is stored. What writes a row encrypts first: nothing is encrypted by being assigned or saved.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from django.db import models
from django.db.models.query_utils import DeferredAttribute

from tasksapp.models.encrypted_text import SecretUnreadable
from tasksapp.models.sealed_value import is_sealed, open_bytes, open_text

#: What jobs carry. Of other columns it is only said that they cannot be read, so that pages about a job still work.
CARRIED = ("body", "raw", "request")
_RAISES = frozenset({*CARRIED, "answer"})
#: What stands in the place of a text about a job that cannot be read.
UNREADABLE = "encrypted at rest, and no key of ENCRYPTION_KEYS opens it"

if TYPE_CHECKING:
    _Column = models.Field[Any, Any]
    _Text = models.TextField[Any, Any]
    _Chars = models.CharField[Any, Any]
    _Bytes = models.BinaryField[Any, Any]
    _Json = models.JSONField[Any, Any]
else:
    _Column = object
    _Text, _Chars, _Bytes, _Json = models.TextField, models.CharField, models.BinaryField, models.JSONField


def stored(row: models.Model, column: str) -> Any:
    """What the row has in that column, encrypted or not; read from the database where the row came without it."""
    values = vars(row)
    if column not in values:
        found = type(row)._base_manager.using(row._state.db).filter(pk=row.pk)
        values[column] = found.values_list(column, flat=True).get()
    return values[column]


class _Opening(DeferredAttribute):
    """A column's attribute. Reading raises SecretUnreadable where a value cannot be opened that a job carries."""

    field: Any

    def __get__(self, instance: Any, cls: Any = None) -> Any:
        if instance is None:
            return self
        value = stored(instance, self.field.attname)
        if not is_sealed(value):
            return value
        # Bytes that a caller gave may begin as anything does, so the row's mark says what they are.
        is_plain = not isinstance(value, str) and not instance.is_sealed
        return value if is_plain else self._opened(instance, value)

    def __set__(self, instance: Any, value: Any) -> None:
        vars(instance)[self.field.attname] = value

    def _opened(self, instance: Any, value: Any) -> Any:
        place = f"{instance.seal_place}/{self.field.attname}"
        try:
            if not isinstance(value, str):
                return open_bytes(bytes(value), place=place)
            text = open_text(value, place=place)
        except SecretUnreadable:
            if self.field.attname in _RAISES:
                raise
            if isinstance(value, str) and not instance.is_sealed:
                return value  # of a plain job: what receivers and people write may begin as anything does
            text = json.dumps({}) if isinstance(self.field, models.JSONField) else UNREADABLE
        return json.loads(text) if isinstance(self.field, models.JSONField) else text


class _Sealable(_Column):
    """What such columns have in common; for migrations each is the plain column that it is made of."""

    descriptor_class = _Opening

    def pre_save(self, model_instance: models.Model, add: bool) -> Any:
        """The value to write: what the instance has, not what it means."""
        return vars(model_instance).get(self.attname)

    def deconstruct(self) -> Any:
        """As migrations know it: a plain column."""
        name, _, args, kwargs = super().deconstruct()
        return name, f"django.db.models.{type(self).__mro__[2].__name__}", args, kwargs


class SealableText(_Sealable, _Text):
    """A text of any length."""


class SealableChars(_Sealable, _Chars):
    """A text of ``SHORT_LENGTH`` characters."""


class SealableBytes(_Sealable, _Bytes):
    """Bytes."""


class SealableJson(_Sealable, _Json):
    """JSON; an encrypted value is a text in its place."""
