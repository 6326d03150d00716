"""Fields that forms of several rooms have, and what a person may type into them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.db import router
from django.db.models import Model
from django.forms.fields import InvalidJSONInput
from django.utils import timezone
from django.utils.functional import Promise
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.text import capfirst
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from tasksapp.access.audit import REASON_LENGTH
from tasksapp.access.quotas import Quota, refusal_words, take_one
from tasksapp.errors import InvalidJob, QuotaUsedUp
from tasksapp.jobs.requests import RULES
from tasksapp.jobs.validation import FlowKey, Moment, Whole
from tasksapp.jobs.written_json import read_json
from tasksapp.models import UNTIL_RESUMED, Job, Series

#: How long what is replaced stays valid beside the new, keys and signing secrets: seconds, and what people read.
OVERLAPS = [
    (0, gettext_lazy("no time: it ends at once")),
    (3_600, gettext_lazy("1 hour")),
    (86_400, gettext_lazy("1 day")),
    (604_800, gettext_lazy("7 days")),
    (2_592_000, gettext_lazy("30 days")),
]
#: Fields that have a form's own input: the body, what belongs to it, and the time.
APART = frozenset({"body", "raw", "content_type", "request", "due_at", "delay"})
#: What people are told of a field, where that is not the help text of its column.
_HELP = {
    "biz_id": gettext_lazy("The business key, such as an order number."),
    "priority": gettext_lazy("0 goes first, 9 last. Empty: as the biz type says."),
}
#: The choice of a time in the place of a length.
AT = "at"


class JsonField(forms.JSONField):
    """Takes strict JSON: no NaN, no NUL, no half of a surrogate pair, no name twice, not nested too deeply."""

    def to_python(self, value: Any) -> Any:
        """The value. Raises ValidationError where it is not such JSON."""
        if isinstance(value, str) and value not in self.empty_values:
            try:
                _read(value)
            except (ValueError, RecursionError) as error:
                raise ValidationError(self.error_messages["invalid"], code="invalid") from error
        return super().to_python(value)

    def bound_data(self, data: Any, initial: Any) -> Any:
        """What the form shows again: where it is not valid, as the person wrote it."""
        if data is None:
            return None
        try:
            return _read(data)
        except (ValueError, RecursionError):
            return InvalidJSONInput(data)


def time_field(label: Any, help_text: Any = "", *, required: bool = False) -> forms.DateTimeField:
    """A field for a time in the time zone that the admin shows, to the second."""
    widget = forms.DateTimeInput(attrs={"type": "datetime-local", "step": "1"}, format="%Y-%m-%dT%H:%M:%S")
    return forms.DateTimeField(label=label, help_text=help_text, required=required, widget=widget)


def reason_field(label: Any, help_text: Any = "", *, required: bool = False) -> forms.CharField:
    """A field for why a person does something, as long as the audit keeps it."""
    widget = forms.TextInput(attrs={"autocomplete": "off"})
    return forms.CharField(label=label, help_text=help_text, required=required, max_length=REASON_LENGTH, widget=widget)


def overlap_field(label: Any, help_text: Any) -> forms.TypedChoiceField:
    """A field for how long what is replaced stays valid beside the new: a key or a secret."""
    return forms.TypedChoiceField(label=label, help_text=help_text, choices=OVERLAPS, coerce=int, initial=86_400)


class UnitInput(forms.NumberInput):
    """A number and its unit beside it: ``[500] jobs per second``.

    Args:
        unit: the unit, translated.
        step: by how much the arrows of the input move it; ``any`` takes every fraction.
    """

    def __init__(self, *, unit: str | Promise, step: str = "any") -> None:
        super().__init__(attrs={"step": step, "class": "vIntegerField"})
        self.unit = unit

    def render(self, name: str, value: Any, attrs: dict[str, Any] | None = None, renderer: Any = None) -> SafeString:
        """The input with its unit."""
        made = super().render(name, value, attrs, renderer)
        return format_html('<span class="delayhub-unit">{} <span>{}</span></span>', made, self.unit)


def take_place(form: forms.BaseForm, quota: Quota, *, model: type[Model], tenant_id: int | None) -> None:
    """Takes the place of one more of the model's rows, or adds the refusal to the form that would make it.

    The admin checks its forms in the transaction that stores them: nobody else takes the last place in between.
    """
    try:
        take_one(quota, tenant_id=tenant_id, using=router.db_for_write(model))
    except QuotaUsedUp as full:
        form.add_error(None, refusal_words(full))


def written_flow_key(text: str) -> str:
    """The flow key, '' for none. Raises ValidationError, in the person's language."""
    try:
        key: str = RULES["flow_key"](text)
    except InvalidJob:
        raise ValidationError(
            _("A flow key has at most 100 bytes, and no colon, brace or control character.")
        ) from None
    return key


def typed_bytes(text: str, *, stored: bytes | None) -> bytes:
    """The bytes of the text, with the ends of lines of what is stored; that itself where nothing else is different.

    Browsers send CR LF for every end of a line.
    """
    raw = text.replace("\r\n", "\n").encode()
    if stored is None:
        return raw
    if raw == _without_cr(stored):
        return stored
    return raw.replace(b"\n", b"\r\n") if b"\r\n" in stored else raw


def _without_cr(text: bytes) -> bytes:
    return text.replace(b"\r\n", b"\n").replace(b"\r", b"\n")


def _read(text: str) -> Any:
    """The value in the text. Raises ValueError or RecursionError."""
    value = read_json(text).value
    written = json.dumps(value, ensure_ascii=False, allow_nan=False)
    written.encode()  # fails at half a surrogate pair
    if "\\u0000" in written:
        raise ValueError("PostgreSQL stores no NUL")
    return value


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


class UntilForm(forms.Form):
    """Until when, and why."""

    #: Seconds, or what a form of its own knows, with their names.
    lengths: Sequence[tuple[str, Any]] = (
        ("900", gettext_lazy("15 minutes")),
        ("3600", gettext_lazy("1 hour")),
        ("14400", gettext_lazy("4 hours")),
        ("86400", gettext_lazy("1 day")),
        (AT, gettext_lazy("until the time below")),
    )
    #: Who reads the reason.
    reason_help: Any = ""

    length = forms.ChoiceField(label=gettext_lazy("For how long"))
    until = forms.DateTimeField(
        label=gettext_lazy("Until"),
        required=False,
        widget=forms.DateTimeInput(attrs={"type": "datetime-local"}, format="%Y-%m-%dT%H:%M"),
    )
    reason = reason_field(gettext_lazy("Why"), required=True)

    def __init__(self, *args: Any, **named: Any) -> None:
        super().__init__(*args, **named)
        self.fields["length"].choices = self.lengths  # type: ignore[attr-defined]  # of a ChoiceField
        self.fields["reason"].help_text = self.reason_help

    def clean(self) -> dict[str, Any]:
        """The fields; an end must lie ahead."""
        cleaned: dict[str, Any] = super().clean() or {}
        if cleaned.get("length") == AT and "until" not in self.errors:
            until = cleaned.get("until")
            if until is None:
                self.add_error("until", _("Give the time, or choose another length."))
            elif not timezone.now() < until < UNTIL_RESUMED:
                self.add_error("until", _("This must be a time that is still to come."))
        return cleaned

    @property
    def ends(self) -> datetime:
        """When it ends."""
        if self.cleaned_data["length"] == AT:
            until: datetime = self.cleaned_data["until"]
            return until
        return timezone.now() + timedelta(seconds=int(self.cleaned_data["length"]))
