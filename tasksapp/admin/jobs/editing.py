"""The form by which a person edits a job that waits."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from tasksapp.admin.frame.fields import (
    APART,
    checked,
    initial_of,
    reason_field,
    shown,
    time_field,
    typed_bytes,
    typed_fields,
)
from tasksapp.admin.frame.own_request import OWN_FIELDS, OwnRequestFields
from tasksapp.admin.jobs.actions import possible_time
from tasksapp.jobs.exact_bytes import CONTENT_TYPE, LONGEST_CONTENT_TYPE, content_type_of, written_body
from tasksapp.jobs.masking import as_shown
from tasksapp.jobs.own_request_rule import shown_request
from tasksapp.jobs.requests import fields_on
from tasksapp.jobs.validation import Face
from tasksapp.jobs.written_json import WrittenJson, read_json
from tasksapp.models import BizType, Job

#: Fields that are typed as they are.
_TYPED = [name for name in fields_on(Face.CHANGE) if name not in APART]
#: Of a body that is a text.
_TEXT_HELP = gettext_lazy("A text. It is stored, signed and sent exactly as you write it here.")


class JobForm(OwnRequestFields):
    """What may be changed of a job that waits, checked by the rules by which jobs are created."""

    field_order = (
        "body", "content_type", "biz_id", "due_at", *_TYPED, *OWN_FIELDS, "reason", "version",
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
    due_at = time_field(
        gettext_lazy("Due"),
        gettext_lazy("A time that has passed means at once. Left as it is, a retry keeps its own time."),
        required=True,
    )
    reason = reason_field(gettext_lazy("Reason"), gettext_lazy("Kept in the record of what was done. May be empty."))
    version = forms.IntegerField(widget=forms.HiddenInput, min_value=1, max_value=2**31 - 1)

    @classmethod
    def of(cls, job: Job, *, sees_bodies: bool) -> JobForm:
        """The form with what the job has; without its body for a person who may not see it."""
        values = {
            "body": written_body(as_shown(job)),
            "content_type": content_type_of(job.request),
            **initial_of(job, ["due_at", *_TYPED]),
            **(shown_request(job.request) or {}),
            "version": job.version,
        }
        return cls(job, initial=values, sees_bodies=sees_bodies)

    def __init__(self, job: Job, *args: Any, sees_bodies: bool, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields.update(typed_fields(Job, _TYPED))
        self.order_fields(self.field_order)
        #: As the page had it: what comes back so has not changed.
        self._shown = as_shown(job)
        text = written_body(self._shown)
        #: Whether the body is bytes that no text field could show; it stays as it is.
        self.keeps_bytes = text is None
        self._is_json, self._text = self._shown.raw is None, text or ""
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
            checked("raw", raw)
            return raw
        try:
            body = read_json(self.cleaned_data["body"].replace("\r\n", "\n"))
        except ValueError as error:
            raise ValidationError(_("This is not JSON: %(why)s.") % {"why": error}) from error
        checked("body", body)
        return body

    def clean_due_at(self) -> datetime:
        """The due time, which must be one that a job may have."""
        return possible_time(self.cleaned_data["due_at"])

    def changes(self, job: Job) -> dict[str, Any]:
        """What the person changed of the job, as :func:`tasksapp.jobs.edit` takes it."""
        given = self.cleaned_data
        # A field that was not on the page stays as it is.
        named = [name for name in ("due_at", *_TYPED) if name in self.data]
        found = {name: given[name] for name in named if given[name] != shown(getattr(job, name))}
        found |= self._changed_body(job)
        found |= self.changed_request(job.request)
        return found

    def _changed_body(self, job: Job) -> dict[str, Any]:
        given = self.cleaned_data
        body = given.get("body")
        found: dict[str, Any] = {}
        if isinstance(body, WrittenJson) and body.text != self._shown.body.replace("\r\n", "\n"):
            found["body"] = body
        if isinstance(body, bytes) and body != self._text.encode():
            found["raw"] = body
        if "content_type" in given and (found or given["content_type"] != content_type_of(job.request)):
            found["content_type"] = given["content_type"]
        return found
