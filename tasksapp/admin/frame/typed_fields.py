"""The fields of a job that a person types as they are: made from their columns, checked by the rules of jobs."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.utils import timezone
from django.utils.text import capfirst
from django.utils.translation import gettext_lazy

from tasksapp.admin.frame.fields import time_field, written_flow_key
from tasksapp.errors import InvalidJob
from tasksapp.jobs.requests import RULES
from tasksapp.jobs.validation import FlowKey, Moment, Whole
from tasksapp.models import Job, Series

#: Fields that have a form's own input: the body, what belongs to it, and the time.
APART = frozenset({"body", "raw", "content_type", "request", "due_at", "delay"})
#: What people are told of a field, where that is not the help text of its column.
_HELP = {
    "biz_id": gettext_lazy("The business key, such as an order number."),
    "priority": gettext_lazy("0 goes first, 9 last. Empty: as the biz type says."),
}


def typed_fields(model: type[Job | Series], names: Iterable[str]) -> dict[str, forms.Field]:
    """By name, the fields of a form for those of the names that are typed as they are. None has to be filled in."""
    return {name: _field(model, name) for name in names if name not in APART}


def initial_of(row: Job | Series, names: Iterable[str]) -> dict[str, Any]:
    """What the row has in those fields, as the form shows it: no fractions of a second."""
    return {name: shown(getattr(row, name)) for name in names}


def shown(value: Any) -> Any:
    """A value as a form shows it."""
    return timezone.localtime(value).replace(microsecond=0) if isinstance(value, datetime) else value


def checked(name: str, given: Any) -> Any:
    """What the rule of that field makes of it. Raises ValidationError."""
    rule = RULES[name]
    if isinstance(rule, FlowKey):
        return written_flow_key(given)
    try:
        return rule(given)
    except InvalidJob as error:
        raise ValidationError(error.message) from None


def _field(model: type[Job | Series], name: str) -> forms.Field:
    column: Any = model._meta.get_field(name)
    label, help_text, rule = capfirst(column.verbose_name), _HELP.get(name, column.help_text), RULES[name]

    def fits(given: Any) -> None:
        checked(name, given)

    if isinstance(rule, Moment):
        return time_field(label, help_text)
    if isinstance(rule, Whole):
        return forms.IntegerField(
            label=label, help_text=help_text, required=False, min_value=rule.least, max_value=rule.most
        )
    return forms.CharField(
        label=label, help_text=help_text, required=False, max_length=column.max_length, validators=[fits]
    )
