"""UntilForm: for how long a person wants something, and why."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from django import forms
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from tasksapp.admin.frame.fields import reason_field
from tasksapp.models import UNTIL_RESUMED

#: The choice of a time in the place of a length.
AT = "at"


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
