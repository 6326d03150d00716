"""API keys in the admin: issued here, shown once, limited to scopes and biz types."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.db import transaction
from django.db.models import Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from tasksapp.access.audit import Deed
from tasksapp.access.key_verbs import delete, edit
from tasksapp.access.keys import new_key, store_key
from tasksapp.admin.api_keys.form import ApiKeyForm
from tasksapp.admin.api_keys.rotation import Rotation, old_until
from tasksapp.admin.audit.history import AuditHistory
from tasksapp.admin.frame.fragments import badge, local_time, number, quiet, time_away
from tasksapp.admin.frame.masking import ShownOnce
from tasksapp.admin.frame.possible_rows import LockedRows, has_tenants
from tasksapp.admin.frame.requests import actor_of
from tasksapp.models import ApiKey, AuditEntry
from tasksapp.models.api_key import Scope

#: The attribute of a request that holds the key which it made.
_NEW_KEY = "_delayhub_new_key"
#: Replacements of a key that its history follows.
_MOST_PREFIXES = 50


class ApiKeyAdmin(AuditHistory, LockedRows, Rotation):
    """Who has a key, what each may do, and when it was used last. The keys themselves are not stored."""

    form = ApiKeyForm
    change_form_template = "tasksapp/admin/api_key.html"
    list_display = ["name", "short_state", "owner", "scope_list", "biz_type_count", "short_use", "prefix"]
    list_filter = ["enabled"]
    named_lookups = frozenset({"enabled__exact", "enabled__isnull"})
    search_fields = ["name", "owner", "prefix"]
    readonly_fields = ["state", "prefix", "tenant", "created_at", "last_use", "replaced"]
    list_per_page = 50

    class Media:
        css = {"all": ["tasksapp/api_keys.css"]}

    def audit_of(self, row: ApiKey) -> Q:
        """Entries about keys with a prefix that this one has or had, and no other key."""
        about = Q()
        for prefix in _prefixes(row):
            about |= Q(what__endswith=f"({prefix}…)")
        return Q(verb__startswith="key.") & about

    def get_queryset(self, request: HttpRequest) -> QuerySet[ApiKey]:
        """The keys, with their tenants."""
        return super().get_queryset(request).select_related("tenant")

    def get_list_display(self, request: HttpRequest) -> Any:
        """The columns; the tenant only where there are several."""
        return [self.list_display[0], "tenant", *self.list_display[1:]] if has_tenants() else self.list_display

    def get_readonly_fields(self, request: HttpRequest, obj: ApiKey | None = None) -> Any:
        """What cannot be changed. The tenant is chosen for a new key, and then never changes."""
        return [name for name in self.readonly_fields if obj or name != "tenant"]

    def get_fieldsets(self, request: HttpRequest, obj: ApiKey | None = None) -> Any:
        """The form's parts; a new key has only what a person fills in."""
        tenant = ["tenant"] if has_tenants() else []
        may = (_("What it may do"), {"fields": ["scopes", "biz_types"]})
        if obj is None:
            return [(None, {"fields": [*tenant, "name", "owner", "expires_at", "enabled"]}), may]
        use = {"fields": ["prefix", "last_use", "replaced", "created_at"]}
        first = {"fields": ["state", *tenant, "name", "owner", "expires_at", "enabled", "seen"]}
        return [(None, first), may, (_("The key"), use)]

    def render_change_form(
        self, request: HttpRequest, context: dict[str, Any], *args: Any, **kwargs: Any
    ) -> HttpResponse:
        """The form's page, with the way to the page that replaces the key."""
        row: ApiKey | None = context.get("original")
        if row is not None and self.has_change_permission(request, row):
            context["rotate_address"] = self.address("rotate", row)
        return super().render_change_form(request, context, *args, **kwargs)

    def save_model(self, request: HttpRequest, obj: ApiKey, form: ApiKeyForm, change: bool) -> None:
        """Stores what the person changed; for a new row, makes its key."""
        if change:
            edit(obj, form.changed_columns(), by=actor_of(request))
            return
        key = ShownOnce(new_key())
        # For response_add, in this request and nowhere else: a message would carry it in a cookie.
        setattr(request, _NEW_KEY, key)
        store_key(obj, key=key, by=actor_of(request))

    def delete_model(self, request: HttpRequest, obj: ApiKey) -> None:
        """Deletes a key."""
        delete(obj, by=actor_of(request))

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[ApiKey]) -> None:
        """Deletes the chosen keys."""
        with transaction.atomic(using=queryset.db):
            for row in queryset:
                delete(row, by=actor_of(request))

    def response_add(self, request: HttpRequest, obj: ApiKey, post_url_continue: str | None = None) -> HttpResponse:
        """The page that shows the new key."""
        del post_url_continue
        return self.new_key_page(request, obj, getattr(request, _NEW_KEY))

    def get_changeform_initial_data(self, request: HttpRequest) -> dict[str, Any]:
        """A new key is enabled, and may do what most calling systems need."""
        return {"enabled": True, "scopes": [Scope.JOBS_READ, Scope.JOBS_WRITE]}

    @admin.display(description=gettext_lazy("state"), ordering="expires_at")
    def short_state(self, row: ApiKey) -> SafeString:
        """Whether the key is taken, and how soon it ends."""
        word = _word(row)
        if not row.enabled or row.expires_at is None:
            return word
        when = time_away(row.expires_at)
        return format_html("{} {}", word, quiet(when if _is_over(row) else _("expires %(when)s") % {"when": when}))

    @admin.display(description=gettext_lazy("last used"), ordering="last_used_at")
    def short_use(self, row: ApiKey) -> SafeString:
        """How long ago it was used last, and from where."""
        if row.last_used_at is None:
            return quiet(_("never"))
        used = format_html("{} {}", time_away(row.last_used_at), quiet(row.last_used_from or ""))
        return _with_label(_("last used"), used)

    @admin.display(description=gettext_lazy("state"))
    def state(self, row: ApiKey) -> SafeString:
        """Whether the key is taken, and until when."""
        word = _word(row)
        return format_html("{} {}", word, local_time(row.expires_at)) if row.enabled and _is_over(row) else word

    @admin.display(description=gettext_lazy("may"))
    def scope_list(self, row: ApiKey) -> SafeString:
        """The scopes."""
        return _with_label(_("may"), ", ".join(row.scopes))

    @admin.display(description=gettext_lazy("biz types"))
    def biz_type_count(self, row: ApiKey) -> SafeString:
        """How many biz types it may see."""
        count = len(row.biz_type_ids)
        some = ngettext("%(count)s biz type", "%(count)s biz types", count) % {"count": number(count)}
        return _with_label(_("biz types"), some if count else _("all"))

    @admin.display(description=gettext_lazy("last used"), ordering="last_used_at")
    def last_use(self, row: ApiKey) -> SafeString:
        """When it was used last, and from where."""
        if row.last_used_at is None:
            return quiet(_("never"))
        if row.last_used_from is None:
            return local_time(row.last_used_at)
        return format_html(_("{when} from {address}"), when=local_time(row.last_used_at), address=row.last_used_from)

    @admin.display(description=gettext_lazy("key before"))
    def replaced(self, row: ApiKey) -> SafeString:
        """The replaced key, while it is valid."""
        ends = old_until(row)
        if not ends:
            return quiet(_("none is valid"))
        return format_html("<code>{}…</code> {} {}", row.previous_prefix, _("valid until"), ends)


def _word(row: ApiKey) -> SafeString:
    if not row.enabled:
        return badge(_("disabled"), "stopped")
    return badge(_("expired"), "bad") if _is_over(row) else badge(_("valid"), "good")


def _with_label(label: str, shown: object) -> SafeString:
    """A cell that says on a phone, where the table has no heads, what it is."""
    return format_html('<span class="delayhub-phone">{}</span> {}', label, shown)


def _is_over(row: ApiKey) -> bool:
    return row.expires_at is not None and row.expires_at <= timezone.now()


def _prefixes(row: ApiKey) -> list[str]:
    """The prefixes that the key has and had, the newest first: each replacement's entry names the one before."""
    found = [row.prefix]
    rotations = AuditEntry.objects.filter(verb=Deed.ROTATE_KEY)
    while len(found) < _MOST_PREFIXES:
        entry = rotations.filter(what__endswith=f"({found[-1]}…)").order_by("-id").first()
        before = entry.before.get("prefix") if entry is not None else None
        if not before or before in found:
            break
        found.append(before)
    return found
