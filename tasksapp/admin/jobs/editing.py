"""The form by which a person edits a job that waits."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from tasksapp.errors import InvalidJob
from tasksapp.jobs.own_request_rule import LONGEST_URL, shown_request
from tasksapp.jobs.requests import RULES
from tasksapp.jobs.validation import DUE_AT, due_time
from tasksapp.jobs.written_json import WrittenJson, read_json
from tasksapp.models import BizType, Job

#: Fields whose values are those of the columns.
_PLAIN = ("priority", "max_attempts", "flow_key")
#: Those of which a job's own request is made, and by the kind of a refusal the one that it is about.
_OWN = ("timeout_seconds", "url", "headers")
_ABOUT = {"timeout": "timeout_seconds", "host": "url", "url": "url", "headers": "headers", "hidden": "headers"}


class JobForm(forms.Form):
    """What may be changed of a job that waits, checked by the rules by which jobs are created."""

    body = forms.CharField(
        label=gettext_lazy("Body"),
        strip=False,
        widget=forms.Textarea(attrs={"rows": 16, "class": "delayhub-code", "spellcheck": "false", "dir": "ltr"}),
        help_text=gettext_lazy("JSON. It is stored, signed and sent exactly as you write it here."),
    )
    biz_id = forms.CharField(
        label=gettext_lazy("Biz id"),
        required=False,
        max_length=200,
        help_text=gettext_lazy("The business key, such as an order number."),
    )
    due_at = forms.DateTimeField(
        label=gettext_lazy("Due"),
        widget=forms.DateTimeInput(attrs={"type": "datetime-local", "step": 1}, format="%Y-%m-%dT%H:%M:%S"),
        help_text=gettext_lazy("A time that has passed means at once. Left as it is, a retry keeps its own time."),
    )
    priority = forms.IntegerField(
        label=gettext_lazy("Priority"),
        required=False,
        min_value=0,
        max_value=9,
        help_text=gettext_lazy("0 goes first, 9 last. Empty: as the biz type says."),
    )
    max_attempts = forms.IntegerField(
        label=gettext_lazy("Attempts at most"),
        required=False,
        min_value=1,
        max_value=1_000,
        help_text=gettext_lazy("Empty: as many as the biz type says."),
    )
    flow_key = forms.CharField(
        label=gettext_lazy("Flow key"),
        required=False,
        max_length=100,
        help_text=gettext_lazy("Whose job it is, such as a customer: keys share the biz type fairly."),
    )
    expires_at = forms.DateTimeField(
        label=gettext_lazy("Expires"),
        required=False,
        widget=forms.DateTimeInput(attrs={"type": "datetime-local", "step": 1}, format="%Y-%m-%dT%H:%M:%S"),
        help_text=gettext_lazy("No attempt begins from then on. Empty: no such end."),
    )
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
    headers = forms.JSONField(
        label=gettext_lazy("Own headers"),
        required=False,
        widget=forms.Textarea(attrs={"rows": 3, "class": "delayhub-code", "spellcheck": "false", "dir": "ltr"}),
        help_text=gettext_lazy('{"X-Region": "eu"}. A value that is shown as (hidden) stays as it is.'),
    )
    reason = forms.CharField(
        label=gettext_lazy("Reason"),
        required=False,
        max_length=500,
        help_text=gettext_lazy("Kept in the record of what was done. May be empty."),
    )
    version = forms.IntegerField(widget=forms.HiddenInput, min_value=1, max_value=2**31 - 1)

    @classmethod
    def of(cls, job: Job, *, sees_bodies: bool) -> JobForm:
        """The form with what the job has; without its body for a person who may not see it."""
        values = {
            "body": job.body,
            "biz_id": job.biz_id,
            "due_at": timezone.localtime(job.due_at).replace(microsecond=0),
            "priority": job.priority,
            "max_attempts": job.max_attempts,
            "flow_key": job.flow_key,
            "expires_at": _without_fraction(job.expires_at),
            **(shown_request(job.request) or {}),
            "version": job.version,
        }
        return cls(job, initial=values, sees_bodies=sees_bodies)

    def __init__(self, job: Job, *args: Any, sees_bodies: bool, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if not sees_bodies:
            del self.fields["body"]
        # Headers of a job may hold what its body does.
        if not sees_bodies or job.biz_type.target != BizType.Target.HTTP:
            for name in _OWN:
                del self.fields[name]

    def clean_body(self) -> WrittenJson:
        """The body with its text, which must be one that a job may have."""
        try:
            body = read_json(self.cleaned_data["body"].replace("\r\n", "\n"))
        except ValueError as error:
            raise ValidationError(_("This is not JSON: %(why)s.") % {"why": error}) from error
        try:
            RULES["body"](body)
        except InvalidJob as error:
            raise ValidationError(error.message) from error
        return body

    def clean_flow_key(self) -> str:
        """The flow key, which must be one that a job may have."""
        try:
            key: str = RULES["flow_key"](self.cleaned_data["flow_key"])
        except InvalidJob as error:
            raise ValidationError(error.message) from error
        return key

    def clean_due_at(self) -> datetime:
        """The due time, which must be one that a job may have."""
        due_at: datetime = self.cleaned_data["due_at"]
        try:
            return due_time(due=DUE_AT(due_at), wait=None, now=timezone.now())
        except InvalidJob as error:
            raise ValidationError(error.message) from error

    def changes(self, job: Job) -> dict[str, Any]:
        """What the person changed of the job, as :func:`tasksapp.jobs.edit` takes it."""
        given = self.cleaned_data
        found = {name: given[name] for name in _PLAIN if given[name] != getattr(job, name)}
        if "biz_id" in self.data and given["biz_id"] != job.biz_id:
            found["biz_id"] = given["biz_id"]
        if "body" in given and given["body"].text != job.body.replace("\r\n", "\n"):
            found["body"] = given["body"]
        # The form has no fractions of a second.
        if given["due_at"] != job.due_at.replace(microsecond=0):
            found["due_at"] = given["due_at"]
        if "expires_at" in self.data and given["expires_at"] != _without_fraction(job.expires_at):
            found["expires_at"] = given["expires_at"]
        if any(name in self.data for name in _OWN):
            own = {name: given[name] for name in _OWN if given.get(name)}
            if own != (shown_request(job.request) or {}):
                found["request"] = own or None
        return found

    def field_of(self, error: InvalidJob) -> str | None:
        """The field that a refusal is about; None where it is about none, or about one that is not there."""
        name = _ABOUT.get(error.code, "") if error.field == "request" else error.field
        return name if name in self.fields else None


def _without_fraction(moment: datetime | None) -> datetime | None:
    return None if moment is None else timezone.localtime(moment).replace(microsecond=0)
