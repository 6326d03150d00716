"""API keys in the admin: issued here, shown once."""

from __future__ import annotations

from typing import Any

from django.contrib import admin, messages
from django.forms import ModelForm
from django.http import HttpRequest
from django.utils.html import format_html

from tasksapp.access.keys import new_key, set_key
from tasksapp.admin.lookups import OnlyNamedLookups
from tasksapp.models import ApiKey


@admin.register(ApiKey)
class ApiKeyAdmin(OnlyNamedLookups, admin.ModelAdmin):  # type: ignore[type-arg]  # it takes no argument at run time
    """The names of the keys and whether they are enabled. The keys themselves are not stored."""

    list_display = ["name", "prefix", "enabled", "created_at", "last_used_at"]
    list_filter = ["enabled"]
    named_lookups = frozenset({"enabled__exact", "enabled__isnull"})
    search_fields = ["name", "prefix"]
    fields = ["name", "enabled", "prefix", "created_at", "last_used_at"]
    readonly_fields = ["prefix", "created_at", "last_used_at"]

    def get_fields(self, request: HttpRequest, obj: ApiKey | None = None) -> Any:
        """The fields; a new key has only those that a person fills in."""
        del request
        return self.fields if obj else ["name", "enabled"]

    def save_model(self, request: HttpRequest, obj: ApiKey, form: ModelForm[ApiKey], change: bool) -> None:
        """Stores the row; for a new one, makes its key and shows it once."""
        if change:
            super().save_model(request, obj, form, change)
            return
        key = new_key()
        set_key(obj, key)
        obj.save()
        text = "The key of {} is <code>{}</code>. Copy it now: it is not kept and cannot be shown again."
        self.message_user(request, format_html(text, obj.name, key), messages.WARNING)

    def get_changeform_initial_data(self, request: HttpRequest) -> dict[str, Any]:
        """A new key is enabled."""
        return {"enabled": True}
