"""The audit in the admin: a list of who did what, to be filtered and read, and changed by no one."""

from __future__ import annotations

from collections import Counter
from typing import Any
from uuid import UUID

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.template.loader import render_to_string
from django.urls import NoReverseMatch, reverse
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from tasksapp.access.audit import Deed
from tasksapp.admin.audit.words import changes_of, deed_label
from tasksapp.admin.frame.fragments import DASH, local_time, quiet
from tasksapp.admin.frame.possible_rows import BoundedPaginator, OnlyRead, PossibleRows
from tasksapp.admin.frame.requests import row_number
from tasksapp.models import AuditEntry, BizType

#: Of so many entries, the newest, the filter takes the names that it offers; and it offers so many at most.
RECENT_ENTRIES, MOST_NAMES = 1_000, 20
#: Biz types that the filter offers.
MOST_BIZ_TYPES = 200


class ByActor(admin.SimpleListFilter):
    """Offers those who did something lately, and who is chosen; any other name can be searched for."""

    title = gettext_lazy("who")
    parameter_name = "actor"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        """The names, the busiest first. Reading all entries for their names would take too long."""
        del model_admin
        newest = AuditEntry.objects.order_by("-id").values_list("actor", flat=True)[:RECENT_ENTRIES]
        names = [name for name, _count in Counter(newest).most_common(MOST_NAMES)]
        chosen = request.GET.get(self.parameter_name)
        return [(name, name) for name in dict.fromkeys([*names, *([chosen] if chosen else [])])]

    def queryset(self, request: HttpRequest, queryset: QuerySet[AuditEntry]) -> QuerySet[AuditEntry]:
        """The entries of that name."""
        del request
        return _chosen(queryset, self.value(), "actor")


class ByDeed(admin.SimpleListFilter):
    """Offers all deeds that there are."""

    title = gettext_lazy("what")
    parameter_name = "verb"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        """The deeds, in words."""
        del request, model_admin
        return [(value, str(label)) for value, label in Deed.choices]

    def queryset(self, request: HttpRequest, queryset: QuerySet[AuditEntry]) -> QuerySet[AuditEntry]:
        """The entries of that deed."""
        del request
        return _chosen(queryset, self.value(), "verb")


class ByBizType(admin.SimpleListFilter):
    """Offers the biz types that there are."""

    title = gettext_lazy("biz type")
    parameter_name = "biz_type"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        """Their labels."""
        del request, model_admin
        rows = BizType.objects.select_related("tenant").only("code", "tenant__code").order_by("code")
        return [(str(row.pk), row.label) for row in rows[:MOST_BIZ_TYPES]]

    def queryset(self, request: HttpRequest, queryset: QuerySet[AuditEntry]) -> QuerySet[AuditEntry]:
        """The entries of the biz type and of its jobs."""
        del request
        value = self.value()
        if value is None:
            return queryset
        number = row_number(value)
        return queryset.none() if number is None else queryset.filter(biz_type_id=number)


class ByTime(admin.DateFieldListFilter):
    """Offers the last days."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.title = _("time")


class AuditEntryAdmin(OnlyRead, PossibleRows):
    """Who did what, the newest first. Deeds make entries, which stay as they were written, and go when they are old."""

    list_display = ["when", "who", "deed", "target"]
    list_display_links = ["when"]
    list_filter = [ByActor, ByDeed, ByBizType, ("at", ByTime)]
    named_lookups = frozenset({"actor", "verb", "biz_type", "at__gte", "at__lt", "at__isnull"})
    list_per_page = 50
    list_max_show_all = 0
    paginator = BoundedPaginator
    show_full_result_count = False
    search_fields = ["actor", "job_id"]
    search_help_text = gettext_lazy("A whole name, such as ada or api:checkout, or a job's id")
    ordering = ["-id"]
    actions = None
    readonly_fields = ["when", "who", "deed", "target", "reason"]

    class Media:
        css = {"all": ["tasksapp/audit.css"]}

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> Any:
        """The list, with the time zone of its times in the title."""
        title = _("Audit (times in %(zone)s)") % {"zone": timezone.get_current_timezone_name()}
        return super().changelist_view(request, {"title": title, **(extra_context or {})})

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[AuditEntry], search_term: str
    ) -> tuple[QuerySet[AuditEntry], bool]:
        """The entries of that whole name, or about the job with that id."""
        del request
        term = search_term.strip()
        if not term:
            return queryset, False
        try:
            return queryset.filter(job_id=UUID(term)), False
        except ValueError:
            return queryset.filter(actor=term), False

    def get_list_display(self, request: HttpRequest) -> list[Any]:
        """The columns; what changed is shown as far as the person may see it."""
        return [*self.list_display, self._shown_changes(request), "why"]

    def get_fieldsets(self, request: HttpRequest, obj: AuditEntry | None = None) -> Any:
        """All fields, with what changed as far as the person may see it."""
        del obj
        return [(None, {"fields": [*self.readonly_fields, self._shown_changes(request)]})]

    def get_readonly_fields(self, request: HttpRequest, obj: AuditEntry | None = None) -> list[Any]:
        """All fields."""
        del obj
        return [*self.readonly_fields, self._shown_changes(request)]

    @admin.display(description=gettext_lazy("time"), ordering="id")
    def when(self, entry: AuditEntry) -> SafeString:
        """When it was done."""
        return local_time(entry.at)

    @admin.display(description=gettext_lazy("who"))
    def who(self, entry: AuditEntry) -> str:
        """The name, and the address where there is one."""
        return f"{entry.actor} ({entry.address})" if entry.address else entry.actor

    @admin.display(description=gettext_lazy("what"))
    def deed(self, entry: AuditEntry) -> str:
        """What was done, in words."""
        return deed_label(entry.verb)

    @admin.display(description=gettext_lazy("to what"))
    def target(self, entry: AuditEntry) -> str | SafeString:
        """What it was done to, with a link where a page may show it."""
        address = self._address(entry)
        return format_html('<a href="{}">{}</a>', address, entry.what) if address else entry.what

    @admin.display(description=gettext_lazy("reason"))
    def why(self, entry: AuditEntry) -> str | SafeString:
        """The reason that was given."""
        return entry.reason or quiet(DASH)

    def _address(self, entry: AuditEntry) -> str | None:
        if entry.job_id is not None:
            page, pk = "job_change", str(entry.job_id)
        elif entry.operation_id is not None:
            page, pk = "operation_change", str(entry.operation_id)
        elif entry.biz_type_id is not None and entry.verb != Deed.DELETE_BIZ_TYPE:
            page, pk = "biztype_change", str(entry.biz_type_id)
        else:
            return None
        try:
            return reverse(f"admin:tasksapp_{page}", args=[pk], current_app=self.admin_site.name)
        except NoReverseMatch:
            return None  # this admin site does not have such pages

    def _shown_changes(self, request: HttpRequest) -> Any:
        @admin.display(description=_("changes"))
        def changes(entry: AuditEntry) -> str:
            return render_to_string("tasksapp/admin/audit_changes.html", {"changes": changes_of(request, entry)})

        return changes


def _chosen(queryset: QuerySet[AuditEntry], value: str | None, column: str) -> QuerySet[AuditEntry]:
    if value is None:
        return queryset
    return queryset.none() if "\0" in value else queryset.filter(**{column: value})
