"""LastingFlag: a column that is set by an UPDATE of its own and that no ``save()`` takes back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.db.models import BooleanField, F, Model

if TYPE_CHECKING:
    _Boolean = BooleanField[Any, Any]
else:
    _Boolean = BooleanField


class LastingFlag(_Boolean):
    """False in a new row. A row that is saved keeps what the database has: the instance may be older than that."""

    def pre_save(self, model_instance: Model, add: bool) -> Any:
        """The value to write: the row's own, unless the row is new."""
        return super().pre_save(model_instance, add) if add else F(self.attname)

    def deconstruct(self) -> Any:
        """As migrations know it: a plain BooleanField."""
        name, _, args, kwargs = super().deconstruct()
        return name, "django.db.models.BooleanField", args, kwargs
