"""StaleForm: a form in the admin that does not overwrite what somebody else stored while it was open."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from django import forms
from django.forms.boundfield import BoundField
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

STALE = gettext_lazy(
    "Somebody changed this while the form was open. Nothing is stored yet: see the marked fields, then save again."
)


class StaleForm(forms.ModelForm):  # type: ignore[type-arg]  # it takes no argument at run time
    """A model's form that carries what each field was when the form was opened, and compares it with the row.

    Where the row has changed since, nothing is stored. The form comes back with what the person typed, and, in the
    fields that they left alone, with what the row has now. It can then be saved. So ``changed_data`` names what the
    person changed and nothing else.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if self.instance.pk is None:
            return
        for bound in self._columns():
            # Django then sends the value at opening beside the field, and finds what was changed by it.
            bound.field.show_hidden_initial = not self.is_bound or self._was_opened_with(bound)

    def full_clean(self) -> None:
        """Validates the fields, and refuses them where the row changed since the form was opened."""
        found: dict[str, str] = {}
        if self.is_bound and self.instance.pk is not None:
            found = dict(self._catch_up())
        super().full_clean()
        if found:
            self.add_error(None, STALE)
        for name, message in found.items():
            self.add_error(name, message)

    def _catch_up(self) -> Iterator[tuple[str, str]]:
        """By field, what became of it meanwhile. The form's data then are as if it had been opened now."""
        touched = set(self.changed_data)
        self.__dict__.pop("changed_data")  # it is cached, and is another one for the data as they will be
        data: Any = self.data.copy()  # type: ignore[attr-defined]  # it is a QueryDict, or a dict in tests
        for bound in self._columns():
            if not bound.field.show_hidden_initial:
                continue
            opened = bound.field.hidden_widget().value_from_datadict(self.data, self.files, bound.html_initial_name)
            if not bound.field.has_changed(bound.initial, opened):
                continue
            now = submitted(bound.field, bound.html_name, bound.initial)
            data.update(submitted(bound.field, bound.html_initial_name, bound.initial))
            value = {"value": " ".join(now.values()).strip() or _("empty")}
            message = _("Somebody else changed this: it is %(value)s now.") % value
            if bound.name in touched:
                typed = _("Somebody else changed this: it is %(value)s now. Saving again stores what you typed.")
                yield bound.name, typed % value
            else:
                data.update(now)
                yield bound.name, message
        self.data = data

    def _columns(self) -> Iterator[BoundField]:
        """The fields that are the row's own; secrets and the like are not compared."""
        columns = {field.name for field in self._meta.model._meta.fields}
        return (bound for bound in self if bound.name in columns and not bound.field.disabled)

    def _was_opened_with(self, bound: BoundField) -> bool:
        """Whether the data say what the field was; a program that posts them may leave that out."""
        names = submitted(bound.field, bound.html_initial_name, bound.initial)
        return all(name in self.data for name in names)


def submitted(field: forms.Field, name: str, value: Any) -> dict[str, str]:
    """What a browser sends for a field with that value: several entries where it has several inputs."""
    widget = field.hidden_widget().get_context(name, field.prepare_value(value), {})["widget"]
    parts = widget.get("subwidgets") or [widget]
    return {part["name"]: "" if part["value"] is None else str(part["value"]) for part in parts}
