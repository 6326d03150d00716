"""Biz types in the admin: people define, pause and resume them."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import admin, messages
from django.db import models
from django.db.models import Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.safestring import SafeString

from tasksapp.admin.audit_history import AuditHistory
from tasksapp.admin.biz_type_copy import COPY_OF, copied, values_of
from tasksapp.admin.biz_type_deletion import why_kept
from tasksapp.admin.delivery_banner import ShowsDelivery
from tasksapp.admin.fragments import biz_type_state, jobs_link
from tasksapp.admin.json_field import JsonField
from tasksapp.admin.lookups import OnlyNamedLookups
from tasksapp.admin.possible_rows import PossibleRows
from tasksapp.admin.signing_secrets import SigningSecrets
from tasksapp.admin.stale_form import StaleForm
from tasksapp.biz_types import verbs
from tasksapp.biz_types.validation import auth_complaint, complaints, must_type_credentials, secret_complaint
from tasksapp.models import BizType, Status
from tasksapp.stats.counts import with_counts

UNCHANGED = "Leave it empty to keep the present one."


class BizTypeForm(StaleForm):
    """A biz type with its secrets, which can be written but not read."""

    auth_secret = forms.CharField(
        required=False,
        widget=forms.PasswordInput(attrs={"autocomplete": "new-password"}),
        help_text=f"user:password, or the token. {UNCHANGED}",
    )
    signing_secret = forms.CharField(
        required=False,
        widget=forms.PasswordInput(attrs={"autocomplete": "new-password"}),
        help_text=(
            f"whsec_ and base64. {UNCHANGED} For a day after a change, callbacks are signed with both."
            " A new biz type without one gets one that is made for it."
        ),
    )

    #: Whether the stored credentials may not be sent any more, to where the biz type leads now.
    forgets_credentials = False

    class Meta:
        model = BizType
        fields = "__all__"
        help_texts = {
            "task_queue": "Its queue; empty for the task's own. A queue= of @delayed_task comes before this one."
        }
        widgets = {
            "description": forms.Textarea(attrs={"rows": 3, "class": "vLargeTextField"}),
            "url": forms.TextInput(attrs={"class": "vLargeTextField"}),
            "headers": forms.Textarea(attrs={"rows": 3, "class": "vLargeTextField"}),
            "backoff_list": forms.Textarea(attrs={"rows": 1, "class": "vLargeTextField"}),
            "permanent_status_codes": forms.Textarea(attrs={"rows": 1, "class": "vLargeTextField"}),
        }

    def full_clean(self) -> None:
        """Validates the fields; a typed secret is asked for again where the form is shown again."""
        super().full_clean()
        for name in ("auth_secret", "signing_secret"):
            if self.errors and self.data.get(name) and name not in self.errors:
                self.add_error(name, "Type it again: a page never repeats a secret.")

    def clean_signing_secret(self) -> str:
        """The secret; it must be one that Standard Webhooks can sign with."""
        secret: str = self.cleaned_data["signing_secret"].strip()
        if secret and (complaint := secret_complaint(secret)):
            raise forms.ValidationError(complaint)
        return secret

    def clean(self) -> dict[str, Any]:
        """The fields; the biz type must be valid as a whole."""
        cleaned: dict[str, Any] = super().clean() or {}
        if not self.errors:
            candidate = BizType(**{name: cleaned[name] for name in cleaned if name in _COLUMNS})
            for field, message in complaints(candidate).items():
                self.add_error(field, message)
            if (unfit := self._auth_complaint(candidate, typed=cleaned.get("auth_secret", ""))) is not None:
                self.add_error("auth_secret", unfit)
        return cleaned

    def save(self, commit: bool = True) -> BizType:
        """The biz type with the new credentials, if any were given; ``save_model`` rotates the signing secret."""
        if secret := self.cleaned_data["auth_secret"]:
            self.instance.auth_secret = secret
        elif self.forgets_credentials:
            self.instance.auth_secret = ""
        saved: BizType = super().save(commit)
        return saved

    def _auth_complaint(self, candidate: BizType, *, typed: str) -> str | None:
        """What is wrong with the credentials, typed now or stored before."""
        before: BizType = self.instance
        self.forgets_credentials = must_type_credentials(before, candidate) is not None
        if typed or not before.auth_secret_sealed:
            return auth_complaint(candidate.auth, typed)
        return None if candidate.auth == BizType.Auth.NONE else must_type_credentials(before, candidate)


_COLUMNS = {field.name for field in BizType._meta.fields}


@admin.register(BizType)
class BizTypeAdmin(AuditHistory, ShowsDelivery, OnlyNamedLookups, PossibleRows, SigningSecrets):
    """Biz types with their state, their target and the numbers of their jobs."""

    form = BizTypeForm
    formfield_overrides = {models.JSONField: {"form_class": JsonField}}
    list_display = ["code", "name", "state", "goes_to", "pending_jobs", "dead_jobs", "max_attempts"]
    list_filter = ["enabled", "target", "lane"]
    named_lookups = frozenset({"enabled__exact", "enabled__isnull", "target__exact", "lane", "lane__isnull"})
    search_fields = ["code", "name", "description"]
    actions = ["pause", "resume"]
    change_form_template = "tasksapp/admin/biz_type.html"
    delete_confirmation_template = "tasksapp/admin/biz_type_delete.html"
    delete_selected_confirmation_template = "tasksapp/admin/biz_types_delete.html"
    readonly_fields = ["secrets", "created_at", "updated_at"]
    fieldsets = [
        (None, {"fields": ["code", "name", "description", "enabled", "paused_until"]}),
        (
            "Target",
            {
                "fields": [
                    "target",
                    "method",
                    "url",
                    "headers",
                    ("auth", "auth_secret"),
                    ("task_name", "task_queue"),
                    "timeout_seconds",
                ]
            },
        ),
        ("Signing", {"fields": ["secrets", "signing_secret"]}),
        (
            "Retries",
            {
                "fields": [
                    ("max_attempts", "max_age"),
                    ("backoff", "backoff_min_seconds", "backoff_max_seconds"),
                    ("backoff_factor", "backoff_max_doublings", "jitter"),
                    "backoff_list",
                    "permanent_status_codes",
                ]
            },
        ),
        (
            "Limits",
            {
                "fields": [
                    ("insert_rate", "insert_burst"),
                    ("delivery_rate", "delivery_burst"),
                    ("max_in_flight", "weight", "priority"),
                ]
            },
        ),
        ("Guarantees", {"fields": ["guarantee", ("max_lateness", "when_late"), "retention", "lane"]}),
        ("Record", {"fields": [("created_at", "updated_at")], "classes": ["collapse"]}),
    ]

    class Media:
        css = {"all": ["tasksapp/admin.css"]}

    def audit_of(self, row: BizType) -> Q:
        """Entries about the biz type itself, not about its jobs."""
        return Q(biz_type_id=row.pk, job_id__isnull=True)

    def get_queryset(self, request: HttpRequest) -> QuerySet[BizType]:
        """Biz types with how many of their jobs are pending and dead."""
        rows: QuerySet[BizType] = with_counts(super().get_queryset(request))
        return rows

    def get_readonly_fields(self, request: HttpRequest, obj: BizType | None = None) -> list[str]:
        """The read-only fields. An existing code is one: callers use it, and it names a queue in Redis."""
        return ["code", *self.readonly_fields] if obj else list(self.readonly_fields)

    def get_fieldsets(self, request: HttpRequest, obj: BizType | None = None) -> Any:
        """The form's fields; people who may not change the biz type see its headers by name only."""
        fieldsets = super().get_fieldsets(request, obj)
        if obj is None or self.has_change_permission(request, obj):
            return fieldsets
        return [
            (
                title,
                {**options, "fields": ["header_names" if name == "headers" else name for name in options["fields"]]},
            )
            for title, options in fieldsets
        ]

    def get_changeform_initial_data(self, request: HttpRequest) -> dict[str, Any]:
        """What the form for a new biz type begins with: the values of the one that it is a copy of, if it is one.

        Django's own would fill in what the address says, and fails at a text where a field takes a time.
        """
        original = self._copied(request)
        return values_of(original) if original else {}

    def render_change_form(
        self, request: HttpRequest, context: dict[str, Any], *args: Any, **kwargs: Any
    ) -> HttpResponse:
        """The form's page, which leads to a copy, or says what a copy lacks."""
        biz_type: BizType | None = context.get("original")
        if biz_type is None:
            context["copied"] = self._copied(request)
        elif self.has_change_permission(request, biz_type):
            site = self.admin_site.name
            if biz_type.target == BizType.Target.HTTP:
                name = "admin:tasksapp_biztype_signing_secret"
                context["secret_url"] = reverse(name, args=[biz_type.pk], current_app=site)
            if self.has_add_permission(request):
                add = reverse("admin:tasksapp_biztype_add", current_app=site)
                context["copy_url"] = f"{add}?{COPY_OF}={biz_type.pk}"
        return super().render_change_form(request, context, *args, **kwargs)

    def get_deleted_objects(self, objs: Any, request: HttpRequest) -> Any:
        """What would be deleted, and why it is not; Django would read every job of the biz types to find that out."""
        biz_types = list(objs)
        lacking = set() if self.has_delete_permission(request) else {self.opts.verbose_name}
        counted = {self.opts.verbose_name_plural: len(biz_types)}
        return [str(biz_type) for biz_type in biz_types], counted, lacking, why_kept(biz_types)

    def get_object(self, request: HttpRequest, object_id: str, from_field: str | None = None) -> Any:
        """The biz type. One that is about to be changed is locked, so that it is compared with what others stored."""
        biz_type: BizType | None = super().get_object(request, object_id, from_field)
        if biz_type is not None and request.method == "POST":
            BizType.objects.select_for_update(no_key=True).filter(pk=biz_type.pk).first()
            biz_type.refresh_from_db()
        return biz_type

    def save_model(self, request: HttpRequest, obj: BizType, form: BizTypeForm, change: bool) -> None:
        """Stores what the person changed, all in the transaction that the admin has begun."""
        if not change:
            super().save_model(request, obj, form, change)
        else:
            paused_until, obj.paused_until = obj.paused_until, form.initial["paused_until"]
            forgotten = {"auth_secret"} if form.forgets_credentials else set()
            verbs.edit(obj, {*form.changed_data, *forgotten} - {"paused_until"})
            if "paused_until" in form.changed_data:
                verbs.pause(obj, until=paused_until) if paused_until else verbs.resume(obj)
        if secret := form.cleaned_data["signing_secret"]:
            verbs.rotate_signing_secret(obj, secret)
        elif not change:
            self.sign_if_new(obj)

    def _copied(self, request: HttpRequest) -> BizType | None:
        """The biz type to copy. It is shown with its headers, so that takes the permission to change it."""
        original = copied(request)
        return original if original is not None and self.has_change_permission(request, original) else None

    @admin.display(description="state")
    def state(self, biz_type: BizType) -> SafeString:
        """Whether its jobs run: open, paused or disabled; and whether its callbacks are not signed."""
        return biz_type_state(biz_type)

    @admin.display(description="goes to")
    def goes_to(self, biz_type: BizType) -> str:
        """The address or the Celery task."""
        if biz_type.target == BizType.Target.CELERY:
            return f"task {biz_type.task_name}"
        return f"{biz_type.method} {biz_type.url}"

    @admin.display(description="pending", ordering="pending")
    def pending_jobs(self, biz_type: Any) -> SafeString:
        """How many jobs are pending, with a link to them."""
        return jobs_link(biz_type, Status.PENDING, biz_type.pending, site=self.admin_site.name)

    @admin.display(description="dead", ordering="dead")
    def dead_jobs(self, biz_type: Any) -> SafeString:
        """How many jobs are dead, with a link to them."""
        return jobs_link(biz_type, Status.DEAD, biz_type.dead, site=self.admin_site.name)

    @admin.display(description="secrets set")
    def secrets(self, biz_type: BizType) -> str:
        """Which secrets are set; their values are never shown."""
        found = [
            label
            for label, sealed in (
                ("auth", biz_type.auth_secret_sealed),
                ("signing", biz_type.signing_secret_sealed),
                ("previous signing", biz_type.previous_signing_secret_sealed),
            )
            if sealed
        ]
        return ", ".join(found) or "none"

    # To people who may not change a biz type, Django shows attributes of the form's names, and those of the model
    # decrypt. What the admin itself has under a name comes first.

    @admin.display(description="auth secret")
    def auth_secret(self, biz_type: BizType) -> str:
        """Whether there is one; its value is never shown."""
        return "set" if biz_type.auth_secret_sealed else "not set"

    @admin.display(description="signing secret")
    def signing_secret(self, biz_type: BizType) -> str:
        """Whether there is one; its value is never shown."""
        return "set" if biz_type.signing_secret_sealed else "not set"

    @admin.display(description="headers")
    def header_names(self, biz_type: BizType) -> str:
        """The names of the extra headers; a value may be a key."""
        return ", ".join(biz_type.headers) or "none"

    @admin.action(description="Pause: jobs wait until somebody resumes", permissions=["change"])
    def pause(self, request: HttpRequest, queryset: QuerySet[BizType]) -> None:
        """Holds the jobs of the chosen biz types."""
        paused = list(queryset)
        for biz_type in paused:
            verbs.pause(biz_type)
        self.message_user(request, f"{len(paused)} paused; their jobs wait.", messages.SUCCESS)

    @admin.action(description="Resume", permissions=["change"])
    def resume(self, request: HttpRequest, queryset: QuerySet[BizType]) -> None:
        """Lets the jobs of the chosen biz types run again, slowly at first."""
        resumed = sum(verbs.resume(biz_type) for biz_type in queryset)
        self.message_user(request, f"{resumed} resumed; the rate rises over time.", messages.SUCCESS)
