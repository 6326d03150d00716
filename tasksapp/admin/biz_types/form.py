"""The form of a biz type: for a new one, and for each tab of one that is there. Secrets and pauses have own pages."""

from __future__ import annotations

from typing import Any, ClassVar

from django import forms
from django.db.models import QuerySet
from django.forms.models import model_to_dict
from django.http import HttpRequest
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from tasksapp.access.quotas import Quota
from tasksapp.admin.biz_types.texts import HELP, LABELS, UNITS
from tasksapp.admin.frame.fields import UnitInput, take_place
from tasksapp.admin.frame.requests import row_number
from tasksapp.admin.frame.stale_form import StaleForm
from tasksapp.biz_types.certificate import certificate_complaint
from tasksapp.biz_types.follow_ups import FOLLOW_UPS
from tasksapp.biz_types.validation import complaints, credentials_complaint, must_type_credentials
from tasksapp.jobs.retry_policy import RetryPolicy, RetrySchedule, schedule_of
from tasksapp.models import DEFAULT_TENANT, BizType

#: The button that shows the retry schedule of what was typed, and stores nothing.
PREVIEW = "_show_schedule"
#: The fields that a retry schedule follows from.
SCHEDULE_FIELDS = frozenset(
    {
        "max_attempts", "max_age", "backoff", "backoff_min_seconds", "backoff_max_seconds", "backoff_factor",
        "backoff_max_doublings", "backoff_list", "jitter",
    }
)  # fmt: skip

_WIDE = {"class": "vLargeTextField"}
#: The parameter of the address that names the biz type to copy.
COPY_OF = "copy_of"
#: What a copy does not take over: callers know the original by its code, and a pause is about the original only.
NOT_COPIED = ("code", "paused_until")


class BizTypeForm(StaleForm):
    """Some fields of a biz type: all of a new one, or those of a tab. The rest stay as they are."""

    auth_secret = forms.CharField(
        label=gettext_lazy("Credentials"),
        required=False,
        widget=forms.PasswordInput(attrs={"autocomplete": "new-password", "class": "vTextField"}),
        help_text=gettext_lazy(
            "user:password, the token, or the client's secret. They are stored encrypted, and no page shows them."
        ),
    )

    #: Whether the person may change secrets; the admin sets it.
    may_change_secrets: ClassVar[bool] = True
    #: Whether the person only wants to see the schedule of what they typed.
    is_preview: ClassVar[bool] = False
    #: Whether the stored credentials may not be sent any more, to where the biz type leads now.
    forgets_credentials = False

    class Meta:
        model = BizType
        fields = "__all__"
        labels = LABELS
        help_texts = HELP
        widgets = {
            "description": forms.Textarea(attrs={"rows": 3, **_WIDE}),
            "url": forms.TextInput(attrs=_WIDE),
            "url_hosts": forms.TextInput(attrs=_WIDE),
            "headers": forms.Textarea(attrs={"rows": 3, **_WIDE}),
            "masked_fields": forms.Textarea(attrs={"rows": 2, **_WIDE}),
            "ca_bundle": forms.Textarea(attrs={"rows": 2, "spellcheck": "false", **_WIDE}),
            "token_url": forms.TextInput(attrs=_WIDE),
            "token_fields": forms.Textarea(attrs={"rows": 1, **_WIDE}),
            "backoff_list": forms.Textarea(attrs={"rows": 1, **_WIDE}),
            "permanent_status_codes": forms.Textarea(attrs={"rows": 1, **_WIDE}),
            **{name: UnitInput(unit=unit, step=step) for name, (unit, step) in UNITS.items()},
        }

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if not self.may_change_secrets or not ("auth" in self.fields or self._leads_elsewhere_with_credentials()):
            self.fields.pop("auth_secret", None)
        elif "auth" not in self.fields:
            shown = self["auth_secret"]
            shown.label = _("Credentials for another host")
            shown.help_text = _(
                "Only where the address leads to another host, port or scheme: the stored credentials are not sent"
                " there. Otherwise leave it empty."
            )

    def full_clean(self) -> None:
        """Validates the fields; typed credentials are asked for again where the form is shown again."""
        super().full_clean()
        name = "auth_secret"
        if self.errors and self.data.get(name) and name in self.fields and name not in self.errors:
            self.add_error(name, _("Type it again: a page never repeats a secret."))

    def is_valid(self) -> bool:
        """Whether the biz type can be stored; not where the person only wants to see the schedule."""
        return super().is_valid() and not self.is_preview

    def clean_masked_fields(self) -> Any:
        """The pointers; none where the field is left empty, or was not on the page."""
        pointers = self.cleaned_data["masked_fields"]
        return [] if pointers is None else pointers

    def clean_token_fields(self) -> Any:
        """What else is asked; nothing where the field is left empty, or was not on the page."""
        fields = self.cleaned_data["token_fields"]
        return {} if fields is None else fields

    def clean(self) -> dict[str, Any]:
        """The fields; the biz type must be valid as a whole."""
        cleaned: dict[str, Any] = super().clean() or {}
        if not self.errors:
            candidate = self.candidate(cleaned)
            for field, message in complaints(candidate).items():
                if field in self.fields:  # of another tab: it says so itself, and this one can be saved meanwhile
                    self.add_error(field, message)
            if self.instance.pk is None and not self.is_preview:
                take_place(self, Quota.BIZ_TYPES, model=BizType, tenant_id=candidate.tenant_id)
            self._clean_code(candidate)
            self._clean_follow_ups(candidate)
            self._clean_credentials(candidate, typed=cleaned.get("auth_secret", ""))
        return cleaned

    def candidate(self, cleaned: dict[str, Any]) -> BizType:
        """The biz type as it would be stored, in a row of its own."""
        stored: BizType = self.instance
        columns = {field.attname: getattr(stored, field.attname) for field in BizType._meta.concrete_fields}
        if cleaned.get("tenant"):
            columns["tenant_id"] = cleaned["tenant"].pk
        return BizType(**{**columns, **{name: cleaned[name] for name in cleaned if name in columns}})

    def schedule(self) -> RetrySchedule | None:
        """When attempts begin by what was typed, or is stored; None where what was typed cannot be."""
        if not self.is_bound:
            initial = {name: self.get_initial_for_field(self.fields[name], name) for name in self._policy_fields()}
            return schedule_of(RetryPolicy(biz_type=self.candidate(initial)))
        if SCHEDULE_FIELDS & self.errors.keys():
            return None
        return schedule_of(RetryPolicy(biz_type=self.candidate(self.cleaned_data)))

    def save(self, commit: bool = True) -> BizType:
        """The biz type with the new credentials, if any were given."""
        if secret := self.cleaned_data.get("auth_secret", ""):
            self.instance.auth_secret = secret
        elif self.forgets_credentials:
            self.instance.auth_secret = ""
        saved: BizType = super().save(commit)
        return saved

    def _policy_fields(self) -> frozenset[str]:
        return SCHEDULE_FIELDS & self.fields.keys()

    def _leads_elsewhere_with_credentials(self) -> bool:
        return "url" in self.fields and bool(self.instance.auth_secret_sealed)

    def _clean_code(self, candidate: BizType) -> None:
        """Compares the code with those of the tenant; Django does so only where the form has the tenant too."""
        if "code" not in self.fields:
            return
        others = _of_tenant(candidate).filter(code=candidate.code).exclude(pk=candidate.pk)
        if others.exists():
            self.add_error("code", _("There is a biz type of this code already."))

    def _clean_follow_ups(self, candidate: BizType) -> None:
        """A code that is typed must be there; documents and REST may name one that comes later."""
        codes = _of_tenant(candidate)
        for name in FOLLOW_UPS:
            code = getattr(candidate, name)
            if code and name in self.changed_data and not codes.filter(code=code).exists() and name not in self.errors:
                self.add_error(name, _("There is no biz type of this code."))

    def _clean_credentials(self, candidate: BizType, *, typed: str) -> None:
        before: BizType = self.instance
        if "url" in self.fields and (complaint := certificate_complaint(before, candidate)):
            self.add_error("url", complaint)
        self.forgets_credentials = must_type_credentials(before, candidate) is not None
        complaint = credentials_complaint(before, candidate, typed=typed)
        if complaint is None:
            return
        if "auth_secret" in self.fields:
            self.add_error("auth_secret", complaint)
        elif before.auth_secret_sealed:
            message = _("%(reason)s Only a person who may change secrets can do that.") % {"reason": complaint}
            self.add_error("url" if "url" in self.fields else None, message)


def _of_tenant(candidate: BizType) -> QuerySet[BizType]:
    """The biz types of its tenant, without reading the tenant."""
    return BizType.objects.filter(tenant_id=candidate.tenant_id or DEFAULT_TENANT)


def copied(request: HttpRequest) -> BizType | None:
    """The biz type that the form for a new one is a copy of; None where it is no copy."""
    number = row_number(request.GET.get(COPY_OF, ""))
    return None if number is None else BizType.objects.filter(pk=number).first()


def values_of(biz_type: BizType) -> dict[str, Any]:
    """What the form begins with; secrets are no fields of the row, so they are not among it."""
    return model_to_dict(biz_type, exclude=NOT_COPIED)
