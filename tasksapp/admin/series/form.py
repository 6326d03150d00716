"""The form of a series, and how what is typed becomes the fields that the verbs take."""

from __future__ import annotations

from typing import Any
from zoneinfo import available_timezones

from django import forms
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from tasksapp.admin.frame.fields import (
    APART,
    UnitInput,
    initial_of,
    reason_field,
    time_field,
    typed_bytes,
    typed_fields,
)
from tasksapp.admin.frame.own_request import OWN_FIELDS, OwnRequestFields
from tasksapp.errors import InvalidJob
from tasksapp.jobs.exact_bytes import CONTENT_TYPE, LONGEST_CONTENT_TYPE, content_type_of, written_body
from tasksapp.jobs.masking import as_shown
from tasksapp.jobs.own_request_rule import shown_request
from tasksapp.jobs.requests import RULES
from tasksapp.jobs.written_json import WrittenJson, read_json
from tasksapp.models import BizType, Series
from tasksapp.series.fields import CONTENT, SCHEDULE
from tasksapp.series.outlook import Preview, preview

#: The button that shows the next occurrences of what was typed, and stores nothing.
PREVIEW = "_preview"

_WIDE = {"class": "vLargeTextField"}


class SeriesForm(OwnRequestFields):
    """All fields of a series. The rules are those of the verbs, whose refusals are shown at their fields."""

    biz_type = forms.ModelChoiceField(BizType.objects.none(), label=gettext_lazy("Biz type"))
    name = forms.CharField(
        label=gettext_lazy("Name"), max_length=100, help_text=gettext_lazy("Unique in its biz type.")
    )
    cron = forms.CharField(
        label=gettext_lazy("Cron"),
        max_length=200,
        required=False,
        widget=forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false"}),
        help_text=gettext_lazy(
            "Minute, hour, day of the month, month, day of the week: 0 9 * * 1-5. Or leave it empty."
        ),
    )
    time_zone = forms.ChoiceField(label=gettext_lazy("Time zone of the cron expression"), required=False)
    every = forms.FloatField(
        label=gettext_lazy("Or every"),
        required=False,
        min_value=1,
        widget=UnitInput(unit=gettext_lazy("seconds")),
    )
    anchor = time_field(
        gettext_lazy("Counted from"), gettext_lazy("One of the moments of the interval; empty: now, or its start.")
    )
    times = forms.CharField(
        label=gettext_lazy("Or at these times"),
        required=False,
        max_length=60_000,
        widget=forms.Textarea(attrs={"rows": 3, "spellcheck": "false", **_WIDE}),
        help_text=gettext_lazy("One a line, with a time zone: 2027-01-31T09:00:00+08:00."),
    )
    starts_at = time_field(gettext_lazy("Starts"), gettext_lazy("None is due before. May be empty."))
    ends_at = time_field(gettext_lazy("Ends"), gettext_lazy("None is due after. May be empty."))
    count = forms.IntegerField(
        label=gettext_lazy("Ends after"),
        required=False,
        min_value=1,
        widget=UnitInput(unit=gettext_lazy("occurrences"), step="1"),
    )
    jitter = forms.FloatField(
        label=gettext_lazy("Jitter"),
        required=False,
        min_value=0,
        widget=UnitInput(unit=gettext_lazy("seconds")),
        help_text=gettext_lazy("Each is due up to so much later, so that not all series start at once."),
    )
    overlap = forms.ChoiceField(
        label=gettext_lazy("If the one before has not finished"), choices=Series.Overlap.choices
    )
    catch_up = forms.ChoiceField(
        label=gettext_lazy("Run after an outage"), choices=Series.CatchUp.choices, initial=Series.CatchUp.LATEST
    )
    body = forms.CharField(
        label=gettext_lazy("Body"),
        initial="null",
        required=False,
        strip=False,
        widget=forms.Textarea(attrs={"rows": 4, "spellcheck": "false", **_WIDE}),
        help_text=gettext_lazy("The JSON that is signed and sent; or any text, with its content type."),
    )
    content_type = forms.RegexField(
        label=gettext_lazy("Content type"),
        regex=CONTENT_TYPE,
        required=False,
        max_length=LONGEST_CONTENT_TYPE,
        widget=forms.TextInput(attrs={"dir": "ltr", "autocomplete": "off"}),
        help_text=gettext_lazy(
            "Empty: the body is JSON. Else it is a text, sent exactly as you write it, such as application/xml."
        ),
    )
    version = forms.IntegerField(required=False, widget=forms.HiddenInput)

    def __init__(self, data: Any = None, *, series: Series | None, sees_body: bool) -> None:
        super().__init__(data, initial={} if series is None else _initial(series))
        self.fields.update(typed_fields(Series, CONTENT))
        self.preview: Preview | None = None
        self._request = "" if series is None else series.request
        self._raw = None if series is None or series.raw is None else bytes(series.raw)
        #: Whether the body is bytes that no text field could show; it stays as it is.
        self.keeps_bytes = series is not None and written_body(series) is None
        #: The body as the page had it: what comes back so has not changed.
        self._shown = "" if series is None or not series.biz_type.masked_fields else as_shown(series).body
        zones: Any = self.fields["time_zone"]
        zones.choices = [(name, name) for name in sorted(available_timezones())]
        if series is None:
            choice: Any = self.fields["biz_type"]
            choice.queryset = BizType.objects.order_by("code")
            self.fields["time_zone"].initial = timezone.get_default_timezone_name()
        else:
            del self.fields["biz_type"]
            hidden = () if sees_body else OWN_FIELDS
            for name in (*hidden, *(("body", "content_type") if self.keeps_bytes or not sees_body else ())):
                del self.fields[name]

    def clean(self) -> dict[str, Any]:
        """The fields, and the preview of what they mean."""
        cleaned: dict[str, Any] = super().clean() or {}
        if cleaned.get("content_type"):
            self._clean_text(cleaned)
        elif "body" in cleaned:
            try:
                cleaned["body"] = read_json(cleaned["body"].strip())
            except ValueError as error:
                self.add_error("body", _("This is not valid JSON: %(error)s") % {"error": error})
        if not self.errors:
            fields = self.given()
            try:
                self.preview = preview(**{name: fields[name] for name in SCHEDULE})
            except InvalidJob as error:
                self.refuse(error)
        return cleaned

    def _clean_text(self, cleaned: dict[str, Any]) -> None:
        raw = typed_bytes(cleaned.pop("body", ""), stored=self._raw)
        try:
            cleaned["raw"] = RULES["raw"](raw)
        except InvalidJob as error:
            self.add_error("body", error.message)

    def given(self) -> dict[str, Any]:
        """The fields as the verbs take them."""
        cleaned = self.cleaned_data
        given = {name: cleaned[name] for name in cleaned if name not in {"biz_type", "version", *OWN_FIELDS}}
        if not given.get("content_type"):
            given.pop("content_type", None)  # JSON has none
        if self._shown and isinstance(given.get("body"), WrittenJson) and given["body"].text == self._shown.strip():
            del given["body"]
        given |= self.changed_request(self._request)
        given["times"] = cleaned.get("times", "").split()
        return given

    @property
    def carried(self) -> list[forms.BoundField]:
        """What its jobs carry, as far as it is typed as it is."""
        return [self[name] for name in typed_fields(Series, CONTENT)]

    def refuse(self, error: InvalidJob) -> None:
        """Shows a refusal of the verbs at its field."""
        self.add_error(self.field_of(error), error.message)


class BackfillForm(forms.Form):
    """Which occurrences of the past are to have jobs."""

    since = time_field(gettext_lazy("From"), gettext_lazy("The first one may be then."), required=True)
    until = time_field(gettext_lazy("Until"), gettext_lazy("The last one comes before. Empty: now."))
    reason = reason_field(gettext_lazy("Why"))

    def refuse(self, error: InvalidJob) -> None:
        """Shows a refusal of the verb at its field."""
        self.add_error(error.field if error.field in self.fields else None, error.message)


def _initial(series: Series) -> dict[str, Any]:
    names = (
        "name", "cron", "time_zone", "anchor", "starts_at", "ends_at", "count", "overlap", "catch_up", "version",
    )  # fmt: skip
    return {
        **{name: getattr(series, name) for name in names},
        **initial_of(series, [name for name in CONTENT if name not in APART]),
        **(shown_request(series.request) or {}),
        "body": written_body(as_shown(series)),
        "content_type": content_type_of(series.request),
        "every": None if series.every is None else series.every.total_seconds(),
        "jitter": series.jitter.total_seconds() or None,
        "times": "\n".join(series.times),
    }
