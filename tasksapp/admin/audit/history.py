"""AuditHistory: the page behind "History" shows the audit, and not only what Django's log has."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.contrib.admin.models import LogEntry
from django.contrib.admin.utils import unquote
from django.contrib.contenttypes.models import ContentType
from django.core.paginator import Paginator
from django.db.models import Q, QuerySet
from django.http import HttpRequest, HttpResponse

from tasksapp.admin.audit.words import changes_of, deed_label
from tasksapp.admin.frame.possible_rows import BoundedPaginator
from tasksapp.models import AuditEntry

#: Entries of one page.
PAGE_ENTRIES = 50
#: Entries of Django's log, from before the audit, that the last page shows.
MOST_OLDER = 100


class AuditHistory(admin.ModelAdmin):  # type: ignore[type-arg]  # it takes no argument at run time
    """A part of a ModelAdmin: its rows' history is the audit, the newest first.

    What Django's own log has from before there was an audit stands below.
    """

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
            context["older"] = [] if page.has_next() else self._older(row, entries)
        return super().history_view(request, object_id, {**context, **(extra_context or {})})

    def _older(self, row: Any, entries: QuerySet[AuditEntry]) -> list[LogEntry]:
        content_type = ContentType.objects.get_for_model(self.model)
        logged = LogEntry.objects.filter(content_type=content_type, object_id=str(row.pk)).select_related("user")
        first = entries.reverse().values_list("at", flat=True).first()
        if first is not None:
            logged = logged.filter(action_time__lt=first)
        return list(logged.order_by("-action_time")[:MOST_OLDER])
