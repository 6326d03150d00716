"""A timeout, headers and a URL of their own: the fields by which a person gives them to jobs, and how they look."""

from __future__ import annotations

from typing import Any

from django import forms
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from tasksapp.admin.frame.masking import hidden
from tasksapp.errors import InvalidJob
from tasksapp.jobs.own_request_rule import HIDDEN, LONGEST_URL, shown_request

#: The fields, and by the kind of a refusal the one that it is about.
OWN_FIELDS = ("timeout_seconds", "url", "headers")
_ABOUT = {"timeout": "timeout_seconds", "host": "url", "url": "url", "headers": "headers", "hidden": "headers"}


class _HeadersField(forms.JSONField):
    """JSON, empty where there is none."""

    def prepare_value(self, value: Any) -> Any:
        """The text of the field."""
        return "" if value is None else super().prepare_value(value)


class OwnRequestFields(forms.Form):
    """The part of a form that says what a job's own request has."""

    timeout_seconds = forms.FloatField(
        label=gettext_lazy("Own timeout"),
        required=False,
        widget=forms.NumberInput(attrs={"step": "any"}),
        help_text=gettext_lazy("Seconds, at most the timeout of the biz type. Empty: that one."),
    )
    url = forms.CharField(
        label=gettext_lazy("Own URL"),
        required=False,
        max_length=LONGEST_URL,
        widget=forms.TextInput(attrs={"dir": "ltr"}),
        help_text=gettext_lazy("Of a host that the biz type names. Empty: the URL of the biz type."),
    )
    headers = _HeadersField(
        label=gettext_lazy("Own headers"),
        required=False,
        widget=forms.Textarea(attrs={"rows": 3, "class": "delayhub-code", "spellcheck": "false", "dir": "ltr"}),
        help_text=gettext_lazy('{"X-Region": "eu"}. A value that is shown as (hidden) stays as it is.'),
    )

    def changed_request(self, stored: str) -> dict[str, Any]:
        """What the person changed of what the row has: ``request`` as the verbs take it; nothing where it is the same,
        or the form has no such fields."""
        if not any(name in self.data for name in OWN_FIELDS):
            return {}
        own = {name: self.cleaned_data[name] for name in OWN_FIELDS if self.cleaned_data.get(name)}
        return {"request": own or None} if own != (shown_request(stored) or {}) else {}

    def field_of(self, error: InvalidJob) -> str | None:
        """The field that a refusal is about; None where it is about none, or about one that is not there."""
        name = _ABOUT.get(error.code, "") if error.field == "request" else error.field
        return name if name in self.fields else None


def own_request_facts(text: str, *, sees: bool) -> list[tuple[str, str | SafeString]]:
    """What its request has of its own, by what people call that; URLs and headers only for those who see bodies."""
    shown = shown_request(text) or {}
    found: list[tuple[str, str | SafeString]] = []
    if (timeout := shown.get("timeout_seconds")) is not None:
        found.append((_("Timeout"), _("%(seconds)s s") % {"seconds": f"{timeout:g}"}))
    if url := shown.get("url"):
        found.append((_("URL"), url if sees else hidden(url)))
    headers: dict[str, str] = shown.get("headers", {})
    found += [(name, value if sees or value == HIDDEN else hidden(value)) for name, value in headers.items()]
    return found
