"""Biz types in the admin: people define them, pause them, test them, and see how they fare."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, cast

from django.apps import apps
from django.contrib import admin, messages
from django.contrib.admin.options import IS_POPUP_VAR
from django.db import models
from django.db.models import Q
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from tasksapp.access.shown_text import shown_text
from tasksapp.admin.audit.history import AuditHistory
from tasksapp.admin.biz_types.form import PREVIEW, BizTypeForm, copied, values_of
from tasksapp.admin.biz_types.keys import FlowKeyPages
from tasksapp.admin.biz_types.listing import BizTypeList
from tasksapp.admin.biz_types.now import Now
from tasksapp.admin.biz_types.pause import Pausing
from tasksapp.admin.biz_types.retry_words import schedule_context
from tasksapp.admin.biz_types.secrets_page import Secrets
from tasksapp.admin.biz_types.tabs import ALL, FORMS, NEW, NOT_PULLED, TAB, TOKEN, fieldsets_of, tab_of
from tasksapp.admin.biz_types.test_call import SampleCalls
from tasksapp.admin.frame.delivery_banner import ShowsDelivery, banner
from tasksapp.admin.frame.fields import JsonField
from tasksapp.admin.frame.fragments import number
from tasksapp.admin.frame.own_page import FRAGMENT
from tasksapp.admin.frame.possible_rows import LockedRows, has_tenants
from tasksapp.admin.frame.requests import actor_of
from tasksapp.biz_types import verbs
from tasksapp.biz_types.verbs import may_delete
from tasksapp.models import LIVE, BizType, Job, Series
from tasksapp.models.columns import marked_columns
from tasksapp.stats.counts import FARTHEST, bounded_count

#: The package that ships htmx, which shows the schedule of what is typed. Without it, a button does.
HTMX_APP = "django_htmx"


class BizTypeAdmin(
    AuditHistory,
    ShowsDelivery,
    LockedRows,
    Pausing,
    Secrets,
    SampleCalls,
    FlowKeyPages,
    Now,
    BizTypeList,
):
    """Biz types: their list, their first page, and the tabs of their form."""

    form = BizTypeForm
    named_lookups = frozenset(
        {"enabled__exact", "enabled__isnull", "target__exact", "lane", "lane__isnull", "tenant__id__exact"}
    )
    formfield_overrides = {models.JSONField: {"form_class": JsonField}}
    change_form_template = "tasksapp/admin/biz_type.html"
    delete_confirmation_template = "tasksapp/admin/biz_type_delete.html"
    delete_selected_confirmation_template = "tasksapp/admin/biz_types_delete.html"
    readonly_fields = ["created_at", "updated_at"]

    class Media:
        css = {"all": ["tasksapp/biz_types.css"]}

    def audit_of(self, row: BizType) -> Q:
        """Entries about the biz type itself, not about its jobs."""
        return Q(biz_type_id=row.pk, job_id__isnull=True)

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """The biz type's first page, or the tab of the form that the address names."""
        if request.method == "GET" and not tab_of(request) and IS_POPUP_VAR not in request.GET:
            biz_type = self.get_object(request, object_id)
            if biz_type is not None and self.has_view_permission(request, biz_type):
                if FRAGMENT not in request.GET and (text := banner(request)):
                    messages.error(request, text)
                return self.now_page(request, biz_type)
        return super().change_view(request, object_id, form_url, extra_context)

    def get_readonly_fields(self, request: HttpRequest, obj: BizType | None = None) -> list[str]:
        """The read-only fields. The tenant of an existing biz type is one."""
        return ["tenant", *self.readonly_fields] if obj else list(self.readonly_fields)

    def get_fieldsets(self, request: HttpRequest, obj: BizType | None = None) -> Any:
        """The fields of the form, or of its tab; people who may not change the biz type see no secret in it."""
        may_change_secrets = self.has_secrets_permission(request)
        left_out = set() if has_tenants() else {"tenant"}
        if obj is None:
            left_out |= set() if may_change_secrets else {"auth", *TOKEN, "auth_secret"}
            return [_without(fieldset, left_out) for fieldset in NEW]
        if obj.is_pulled and tab_of(request) in FORMS:
            left_out |= NOT_PULLED
        fieldsets = [_without(fieldset, left_out) for fieldset in fieldsets_of(request)]
        if not self.has_change_permission(request, obj):
            return [_without_secrets(fieldset) for fieldset in fieldsets]
        if obj.auth_secret_sealed and may_change_secrets:
            return [_with_credentials(fieldset) for fieldset in fieldsets]
        return fieldsets

    def get_form(self, request: HttpRequest, obj: BizType | None = None, change: bool = False, **kwargs: Any) -> Any:
        """The form's class for this person, which knows whether they only want to see the retry schedule."""
        form: Any = super().get_form(request, obj, change=change, **kwargs)
        form.may_change_secrets = self.has_secrets_permission(request)
        form.is_preview = PREVIEW in request.POST
        return form

    def get_changeform_initial_data(self, request: HttpRequest) -> dict[str, Any]:
        """What the form for a new biz type begins with: the values of the one that it is a copy of, if it is one.

        Django's own would fill in what the address says, and fails at a text where a field takes a time.
        """
        original = self._copied(request)
        return values_of(original) if original else {}

    def render_change_form(
        self, request: HttpRequest, context: dict[str, Any], *args: Any, **kwargs: Any
    ) -> HttpResponse:
        """The form's page: with the tabs of the biz type, the schedule of its retries, and what a copy lacks."""
        biz_type: BizType | None = context.get("original")
        tab = tab_of(request)
        context |= {"show_save_and_add_another": False, "show_save_as_new": False, "all_tab": ALL}
        if biz_type is None:
            context["copied"] = self._copied(request)
        else:
            context |= self.head_of(request, biz_type, tab=tab)
            context |= {
                "title": biz_type.label,
                "subtitle": None,
                "tab": tab,
                "show_save_and_continue": False,
                "show_delete": False,
            }
        if biz_type is None or tab in ("retries", ALL, ""):
            form = cast("BizTypeForm", context["adminform"].form)
            if form.fields:
                context |= schedule_context(form.schedule())
                context |= {"schedule_address": request.get_full_path(), "schedule_is_typed": form.is_bound}
                context["uses_htmx"] = apps.is_installed(HTMX_APP)
        return super().render_change_form(request, context, *args, **kwargs)

    def response_change(self, request: HttpRequest, obj: BizType) -> HttpResponse:
        """After a tab is saved, the same tab; after the whole form, where the pressed button leads."""
        tab = tab_of(request)
        if not tab:
            return super().response_change(request, obj)
        self.message_user(request, _("The biz type %(biz_type)s is saved.") % {"biz_type": obj.label}, messages.SUCCESS)
        return HttpResponseRedirect(f"{self.address('change', obj)}?{TAB}={tab}")

    def get_deleted_objects(self, objs: Any, request: HttpRequest) -> Any:
        """What would be deleted, and why it is not; Django would read every job of the biz types to find that out."""
        biz_types = list(objs)
        lacking = set() if self.has_delete_permission(request) else {self.opts.verbose_name}
        counted = {self.opts.verbose_name_plural: len(biz_types)}
        return [str(biz_type) for biz_type in biz_types], counted, lacking, why_kept(biz_types)

    def save_model(self, request: HttpRequest, obj: BizType, form: BizTypeForm, change: bool) -> None:
        """Stores what the person changed, all in the transaction that the admin has begun."""
        by = actor_of(request)
        if not change:
            verbs.add(obj, by=by)
            self.sign_if_new(request, obj)
            return
        forgotten = {"auth_secret"} if form.forgets_credentials else set()
        verbs.edit(obj, {*form.changed_data, *forgotten}, by=by)

    def delete_model(self, request: HttpRequest, obj: BizType) -> None:
        """Deletes the biz type, and records who did."""
        verbs.delete(obj, by=actor_of(request))

    def delete_queryset(self, request: HttpRequest, queryset: models.QuerySet[BizType]) -> None:
        """Deletes the chosen biz types, and records who did."""
        for biz_type in queryset:
            verbs.delete(biz_type, by=actor_of(request))

    def _copied(self, request: HttpRequest) -> BizType | None:
        """The biz type to copy. It is shown with its headers, so that takes the permission to change it."""
        original = copied(request)
        return original if original is not None and self.has_change_permission(request, original) else None


def _without(fieldset: Any, left_out: set[str]) -> Any:
    title, options = fieldset
    return title, {**options, "fields": [name for name in options["fields"] if name not in left_out]}


def _without_secrets(fieldset: Any) -> Any:
    """The fields, with what may be shown in place of those whose columns are marked."""
    title, options = fieldset
    return title, {**options, "fields": [_SHOWN.get(name, name) for name in options["fields"]]}


def _shown(column: str) -> Callable[[BizType], str]:
    """What a page shows of the column; of headers their names, since a value may be a key."""
    label = cast("Any", BizType._meta.get_field(column)).verbose_name

    @admin.display(description=label)
    def shown(biz_type: BizType) -> str:
        value = getattr(biz_type, column)
        return (", ".join(value) if isinstance(value, dict) else shown_text(column, value)) or _("none")

    shown.__name__ = f"shown_{column}"
    return shown


_SHOWN = {column: _shown(column) for column in marked_columns(BizType)}


def _with_credentials(fieldset: Any) -> Any:
    """The fields with that for other credentials below the address, which may lead to another host."""
    title, options = fieldset
    fields: list[str] = []
    for name in options["fields"]:
        fields += [name, "auth_secret"] if name == "url" else [name]
    return title, {**options, "fields": fields}


def why_kept(biz_types: Iterable[BizType]) -> list[str]:
    """A sentence for each of the biz types that has jobs or series: how many, and what to do."""
    return [_reason(biz_type) for biz_type in biz_types if not may_delete(biz_type)]


def _reason(biz_type: BizType) -> str:
    jobs = Job.objects.filter(biz_type=biz_type)
    live, count = bounded_count(jobs.filter(status__in=LIVE)), bounded_count(jobs)
    if not count:
        name = Series.objects.filter(biz_type=biz_type).order_by("name").values_list("name", flat=True).first()
        text = _("%(code)s has series, such as %(name)s: delete them first. Or disable it: it then makes no jobs.")
        return text % {"code": biz_type.label, "name": name}
    if live:
        sentence = ngettext(
            "%(code)s has %(jobs)s job. Cancel the %(live)s that are pending or running; then set its retention to 0"
            " and run manage.py purge_jobs --biz-type %(code)s. Or disable it: it then takes no jobs, and none fire.",
            "%(code)s has %(jobs)s jobs. Cancel the %(live)s that are pending or running; then set its retention to 0"
            " and run manage.py purge_jobs --biz-type %(code)s. Or disable it: it then takes no jobs, and none fire.",
            count,
        )
    else:
        sentence = ngettext(
            "%(code)s has %(jobs)s job. None of them will fire; then set its retention to 0 and run manage.py"
            " purge_jobs --biz-type %(code)s. Or disable it: it then takes no jobs, and none fire.",
            "%(code)s has %(jobs)s jobs. None of them will fire; then set its retention to 0 and run manage.py"
            " purge_jobs --biz-type %(code)s. Or disable it: it then takes no jobs, and none fire.",
            count,
        )
    return sentence % {
        "code": biz_type.label,
        "jobs": number(count, bound=FARTHEST),
        "live": number(live, bound=FARTHEST),
    }
