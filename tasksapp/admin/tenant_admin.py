"""Tenants in the admin: people add and rename them."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.db.models import Count, OuterRef, Q, QuerySet, Subquery
from django.db.models.functions import Coalesce
from django.forms import ModelForm
from django.http import HttpRequest
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from tasksapp.access import audit
from tasksapp.access.audit import Deed
from tasksapp.access.quotas import Quota, limit_of, uses_of
from tasksapp.admin.audit.history import AuditHistory
from tasksapp.admin.frame.fragments import address, local_time, number, quiet
from tasksapp.admin.frame.possible_rows import PossibleRows
from tasksapp.admin.frame.requests import actor_of
from tasksapp.models import ApiKey, BizType, Tenant
from tasksapp.models.tenant import DEFAULT_TENANT


class TenantAdmin(AuditHistory, PossibleRows):
    """Who owns biz types and API keys."""

    list_display = ["code", "name", "biz_types", "api_keys"]
    search_fields = ["code", "name"]
    fieldsets = [
        (None, {"fields": ["code", "name"]}),
        (gettext_lazy("Quotas"), {"fields": ["used", *(f"most_{quota}" for quota in Quota)]}),
    ]
    readonly_fields = ["used"]

    def audit_of(self, row: Tenant) -> Q:
        """Entries about the tenant itself."""
        return Q(verb__in=[Deed.ADD_TENANT, Deed.EDIT_TENANT, Deed.DELETE_TENANT], what__endswith=f"({row.pk})")

    def get_queryset(self, request: HttpRequest) -> QuerySet[Tenant]:
        """The tenants, with what they own counted."""
        rows: QuerySet[Tenant] = super().get_queryset(request)
        return rows.annotate(biz_type_count=_count_of(BizType), api_key_count=_count_of(ApiKey))

    @admin.display(description=gettext_lazy("biz types"))
    def biz_types(self, tenant: Any) -> SafeString:
        """How many biz types it has, with a link to them."""
        url = address("tasksapp_biztype_changelist", site=self.admin_site.name)
        shown = number(tenant.biz_type_count)
        if not url or not tenant.biz_type_count:
            return quiet(shown)
        return format_html('<a href="{}?tenant__id__exact={}">{}</a>', url, tenant.pk, shown)

    @admin.display(description=gettext_lazy("used"))
    def used(self, tenant: Tenant) -> SafeString:
        """How much of each quota it uses, as the loader counted last."""
        uses = [use for use in uses_of(tenant) if use.used is not None]
        if not uses:
            return quiet(_("not counted yet"))
        lines = (
            _("%(used)s of %(limit)s %(what)s")
            % {"used": number(use.used or 0), "limit": number(use.limit), "what": use.quota.label}
            for use in uses
        )
        said = format_html_join(mark_safe("<br>"), "{}", ((line,) for line in lines))
        return format_html("{}<br>{}", said, quiet(format_html(_("counted {when}"), when=local_time(uses[0].as_of))))

    @admin.display(description=gettext_lazy("API keys"))
    def api_keys(self, tenant: Any) -> SafeString:
        """How many API keys it has."""
        return quiet(number(tenant.api_key_count))

    def get_form(self, request: HttpRequest, obj: Tenant | None = None, change: bool = False, **kwargs: Any) -> Any:
        """The form, which says what its fields do."""
        texts = {
            "code": _("Names the tenant in Python and in addresses, such as acme."),
            "name": _("For people."),
            **{f"most_{quota}": _site_limit(quota) for quota in Quota},
        }
        return super().get_form(request, obj, change=change, help_texts=texts, **kwargs)

    def has_delete_permission(self, request: HttpRequest, obj: Tenant | None = None) -> bool:
        """Whether the person may delete it; the default tenant stays."""
        return super().has_delete_permission(request, obj) and (obj is None or obj.pk != DEFAULT_TENANT)

    def get_actions(self, request: HttpRequest) -> dict[str, Any]:
        """None: tenants are deleted one by one, where they have neither biz types nor keys."""
        del request
        return {}

    def save_model(self, request: HttpRequest, obj: Tenant, form: ModelForm[Tenant], change: bool) -> None:
        """Stores the tenant, and records who did."""
        super().save_model(request, obj, form, change)
        before = {name: form.initial.get(name) for name in form.changed_data} if change else {}
        after = {name: form.cleaned_data[name] for name in form.changed_data}
        self._record(request, Deed.EDIT_TENANT if change else Deed.ADD_TENANT, obj, before=before, after=after)

    def delete_model(self, request: HttpRequest, obj: Tenant) -> None:
        """Deletes the tenant, and records who did."""
        self._record(request, Deed.DELETE_TENANT, obj)
        super().delete_model(request, obj)

    def _record(self, request: HttpRequest, deed: Deed, tenant: Tenant, **details: Any) -> None:
        # The number says which tenant it was: codes can be changed.
        what, using = f"{tenant.code} ({tenant.pk})", tenant._state.db or "default"
        audit.record_deed(deed, by=actor_of(request), using=using, what=what, **details)


def _count_of(model: type[BizType | ApiKey]) -> Coalesce:
    """How many rows of the model a tenant has, in the query for the tenants themselves."""
    rows: Any = model._default_manager.filter(tenant=OuterRef("pk")).order_by().values("tenant")
    return Coalesce(Subquery(rows.annotate(count=Count("pk")).values("count")), 0)


def _site_limit(quota: Quota) -> str:
    """What an empty field means."""
    return _("Empty: %(limit)s, as for all tenants.") % {"limit": number(limit_of(Tenant(), quota))}
