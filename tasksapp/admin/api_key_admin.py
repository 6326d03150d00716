"""API keys in the admin: issued here, shown once."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.db import transaction
from django.db.models import Q, QuerySet
from django.forms import ModelForm
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.utils.cache import add_never_cache_headers
from django.utils.translation import gettext as _

from tasksapp.access.audit import Deed
from tasksapp.access.keys import new_key, record_key, set_key
from tasksapp.admin.audit.history import AuditHistory
from tasksapp.admin.frame.actors import actor_of
from tasksapp.admin.frame.lookups import OnlyNamedLookups
from tasksapp.admin.frame.possible_rows import PossibleRows
from tasksapp.models import ApiKey

#: The attribute of a request that holds the key which it made.
_NEW_KEY = "_delayhub_new_key"


class ShownKey(str):
    """A key on its way to a page; logs of templates and pages for errors write what they hold by its ``repr``."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "<a new API key>"


@admin.register(ApiKey)
class ApiKeyAdmin(AuditHistory, OnlyNamedLookups, PossibleRows):
    """The names of the keys and whether they are enabled. The keys themselves are not stored."""

    list_display = ["name", "prefix", "enabled", "created_at", "last_used_at"]
    list_filter = ["enabled"]
    named_lookups = frozenset({"enabled__exact", "enabled__isnull"})
    search_fields = ["name", "prefix"]
    fields = ["name", "enabled", "prefix", "created_at", "last_used_at"]
    readonly_fields = ["prefix", "created_at", "last_used_at"]

    def audit_of(self, row: ApiKey) -> Q:
        """Entries about keys with the prefix of this one, which no other key has."""
        return Q(verb__startswith="key.", what__endswith=f"({row.prefix}…)")

    def get_fields(self, request: HttpRequest, obj: ApiKey | None = None) -> Any:
        """The fields; a new key has only those that a person fills in."""
        del request
        return self.fields if obj else ["name", "enabled"]

    def save_model(self, request: HttpRequest, obj: ApiKey, form: ModelForm[ApiKey], change: bool) -> None:
        """Stores the row; for a new one, makes its key."""
        if not change:
            key = ShownKey(new_key())
            set_key(obj, key)
            # For response_add, in this request and nowhere else: a message would carry it in a cookie.
            setattr(request, _NEW_KEY, key)
        super().save_model(request, obj, form, change)
        by = actor_of(request)
        if not change:
            record_key(Deed.ISSUE_KEY, obj, by=by)
        if change and "enabled" in form.changed_data:
            record_key(Deed.ENABLE_KEY if obj.enabled else Deed.DISABLE_KEY, obj, by=by)
        if change and "name" in form.changed_data:
            record_key(Deed.EDIT_KEY, obj, by=by, before=form.initial["name"])

    def delete_model(self, request: HttpRequest, obj: ApiKey) -> None:
        """Deletes a key."""
        record_key(Deed.DELETE_KEY, obj, by=actor_of(request))
        super().delete_model(request, obj)

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[ApiKey]) -> None:
        """Deletes the chosen keys."""
        with transaction.atomic(using=queryset.db):
            for row in queryset:
                record_key(Deed.DELETE_KEY, row, by=actor_of(request))
            super().delete_queryset(request, queryset)

    def response_add(self, request: HttpRequest, obj: ApiKey, post_url_continue: str | None = None) -> HttpResponse:
        """The page that shows the new key, in answer to the form itself, so that the key is shown once."""
        del post_url_continue
        context = {
            **self.admin_site.each_context(request),
            "title": _("New API key"),
            "opts": self.opts,
            "name": obj.name,
            "key": getattr(request, _NEW_KEY),
        }
        # It is rendered after the transaction has ended, so only a key that works is shown.
        page = TemplateResponse(request, "tasksapp/admin/new_api_key.html", context)
        add_never_cache_headers(page)
        return page

    def get_changeform_initial_data(self, request: HttpRequest) -> dict[str, Any]:
        """A new key is enabled."""
        return {"enabled": True}
