"""The form by which a person edits a job that waits."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from tasksapp.admin.frame.fields import reason_field, time_field, typed_bytes
from tasksapp.admin.frame.own_request import OWN_FIELDS, OwnRequestFields
from tasksapp.admin.jobs.actions import possible_time
from tasksapp.errors import InvalidJob
from tasksapp.jobs.exact_bytes import CONTENT_TYPE, LONGEST_CONTENT_TYPE, content_type_of, written_body
from tasksapp.jobs.own_request_rule import shown_request
from tasksapp.jobs.requests import RULES
from tasksapp.jobs.written_json import WrittenJson, read_json
from tasksapp.models import BizType, Job

#: Fields whose values are those of the columns.
_PLAIN = ("priority", "max_attempts", "flow_key")
#: Of a body that is a text.
_TEXT_HELP = gettext_lazy("A text. It is stored, signed and sent exactly as you write it here.")


class JobForm(OwnRequestFields):
    """What may be changed of a job that waits, checked by the rules by which jobs are created."""

    field_order = (
        "body", "content_type", "biz_id", "due_at", "priority", "max_attempts", "flow_key", "expires_at", *OWN_FIELDS,
        "reason", "version",
    )  # fmt: skip

    body = forms.CharField(
        label=gettext_lazy("Body"),
        strip=False,
        widget=forms.Textarea(attrs={"rows": 16, "class": "delayhub-code", "spellcheck": "false", "dir": "ltr"}),
        help_text=gettext_lazy("JSON. It is stored, signed and sent exactly as you write it here."),
    )
    content_type = forms.RegexField(
        label=gettext_lazy("Content type"),
        regex=CONTENT_TYPE,
        max_length=LONGEST_CONTENT_TYPE,
        widget=forms.TextInput(attrs={"dir": "ltr"}),
        help_text=gettext_lazy("Of the body, such as text/plain; charset=utf-8."),
    )
    biz_id = forms.CharField(
        label=gettext_lazy("Biz id"),
        required=False,
        max_length=200,
        help_text=gettext_lazy("The business key, such as an order number."),
    )
    due_at = time_field(
        gettext_lazy("Due"),
        gettext_lazy("A time that has passed means at once. Left as it is, a retry keeps its own time."),
        required=True,
    )
    expires_at = time_field(
        gettext_lazy("Expires"), gettext_lazy("No attempt begins from then on. Empty: no such end.")
    )
    reason = reason_field(gettext_lazy("Reason"), gettext_lazy("Kept in the record of what was done. May be empty."))
    version = forms.IntegerField(widget=forms.HiddenInput, min_value=1, max_value=2**31 - 1)

    @classmethod
    def of(cls, job: Job, *, sees_bodies: bool) -> JobForm:
        """The form with what the job has; without its body for a person who may not see it."""
        values = {
            "body": written_body(job),
            "content_type": content_type_of(job.request),
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
        text = written_body(job)
        #: Whether the body is bytes that no text field could show; it stays as it is.
        self.keeps_bytes = text is None
        self._is_json, self._text = job.raw is None, text or ""
        if not sees_bodies or self.keeps_bytes:
            del self.fields["body"]
        elif not self._is_json:
            self.fields["body"].required, self.fields["body"].help_text = False, _TEXT_HELP
        if not sees_bodies or self._is_json:
            del self.fields["content_type"]
        # Headers of a job may hold what its body does.
        if not sees_bodies or job.biz_type.target != BizType.Target.HTTP:
            for name in OWN_FIELDS:
                del self.fields[name]

    def clean_body(self) -> WrittenJson | bytes:
        """The body with its text, which must be one that a job may have; or the bytes of a text."""
        if not self._is_json:
            raw = typed_bytes(self.cleaned_data["body"], stored=self._text.encode())
            self._checked("raw", raw)
            return raw
        try:
            body = read_json(self.cleaned_data["body"].replace("\r\n", "\n"))
        except ValueError as error:
            raise ValidationError(_("This is not JSON: %(why)s.") % {"why": error}) from error
        self._checked("body", body)
        return body

    def _checked(self, name: str, given: Any) -> Any:
        try:
            return RULES[name](given)
        except InvalidJob as error:
            raise ValidationError(error.message) from error

    def clean_due_at(self) -> datetime:
        """The due time, which must be one that a job may have."""
        return possible_time(self.cleaned_data["due_at"])

    def changes(self, job: Job) -> dict[str, Any]:
        """What the person changed of the job, as :func:`tasksapp.jobs.edit` takes it."""
        given = self.cleaned_data
        found = {name: given[name] for name in _PLAIN if given[name] != getattr(job, name)}
        if "biz_id" in self.data and given["biz_id"] != job.biz_id:
            found["biz_id"] = given["biz_id"]
        found |= self._changed_body(job)
        # The form has no fractions of a second.
        if given["due_at"] != job.due_at.replace(microsecond=0):
            found["due_at"] = given["due_at"]
        if "expires_at" in self.data and given["expires_at"] != _without_fraction(job.expires_at):
            found["expires_at"] = given["expires_at"]
        found |= self.changed_request(job.request)
        return found

    def _changed_body(self, job: Job) -> dict[str, Any]:
        given = self.cleaned_data
        body = given.get("body")
        found: dict[str, Any] = {}
        if isinstance(body, WrittenJson) and body.text != job.body.replace("\r\n", "\n"):
            found["body"] = body
        if isinstance(body, bytes) and body != self._text.encode():
            found["raw"] = body
        if "content_type" in given and (found or given["content_type"] != content_type_of(job.request)):
            found["content_type"] = given["content_type"]
        return found


def _without_fraction(moment: datetime | None) -> datetime | None:
    return None if moment is None else timezone.localtime(moment).replace(microsecond=0)
