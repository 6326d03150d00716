"""AuditHistory: the page behind "History" shows the audit, not Django's log."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.contrib.admin.utils import unquote
from django.core.paginator import Paginator
from django.db.models import Q
from django.http import HttpRequest, HttpResponse

from tasksapp.admin.audit.words import changes_of, deed_label
from tasksapp.admin.frame.possible_rows import BoundedPaginator
from tasksapp.models import AuditEntry

#: Entries of one page.
PAGE_ENTRIES = 50


class AuditHistory(admin.ModelAdmin):  # type: ignore[type-arg]  # it takes no argument at run time
    """A part of a ModelAdmin: its rows' history is the audit, the newest first."""

    def audit_of(self, row: Any) -> Q:
        """Which entries are about the row."""
        raise NotImplementedError

    def history_view(
        self, request: HttpRequest, object_id: str, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """The page; Django asks for the permission to view the row, and says where there is no such row."""
        row = self.get_object(request, unquote(object_id))
        context: dict[str, Any] = {}
        if row is not None:
            entries = AuditEntry.objects.filter(self.audit_of(row)).order_by("-id")
            paginator: Paginator[AuditEntry] = BoundedPaginator(entries, PAGE_ENTRIES)
            page = paginator.get_page(request.GET.get("p"))
            context["audit"] = page
            context["audited"] = [
                {"entry": entry, "deed": deed_label(entry.verb), "changes": changes_of(request, entry)}
                for entry in page.object_list
            ]
        return super().history_view(request, object_id, {**context, **(extra_context or {})})
