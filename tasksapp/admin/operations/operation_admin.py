"""Operations in the admin: their history, and each one's page."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.contrib.admin.views.main import ChangeList
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext_lazy as _

from tasksapp.access.permissions import VERBS, may
from tasksapp.admin.frame.filter_words import series_names, stored_filter
from tasksapp.admin.frame.possible_rows import BoundedPaginator, OnlyRead, PossibleRows
from tasksapp.admin.operations.pages import OperationPages
from tasksapp.admin.operations.rows import OperationRow
from tasksapp.models import BizType, Operation
from tasksapp.operations.verbs import OPEN

#: Biz types that the filter offers.
MOST_BIZ_TYPES = 1_000


class OpenFilter(admin.SimpleListFilter):
    """Operations that still do something, or that have ended."""

    title = _("state")
    parameter_name = "open"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, Any]]:
        """The choices."""
        del request, model_admin
        return [("yes", _("not ended")), ("no", _("ended"))]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Operation]) -> QuerySet[Operation]:
        """Those that were chosen."""
        del request
        match self.value():
            case "yes":
                return queryset.filter(state__in=OPEN)
            case "no":
                return queryset.exclude(state__in=OPEN)
        return queryset


class BizTypeFilter(admin.RelatedFieldListFilter):
    """Operations for the jobs of one biz type."""

    def field_choices(self, field: Any, request: HttpRequest, model_admin: Any) -> Any:
        """The biz types, with their tenants in the same query."""
        del field, request, model_admin
        return labels()


class OperationChangeList(ChangeList):
    """The history, with its rows as the page shows them."""

    rows: list[OperationRow]
    biz_types: list[tuple[int, str]]

    def get_filters_params(self, params: Any = None) -> dict[str, Any]:
        """What the list is filtered by: a choice that was left empty filters nothing."""
        given: dict[str, Any] = super().get_filters_params(params)
        return {name: values for name, values in given.items() if any(values)}

    def get_results(self, request: HttpRequest) -> None:
        """Reads a page of operations."""
        super().get_results(request)
        site = self.model_admin.admin_site.name
        self.biz_types = labels()
        self.biz_type, self.open = (request.GET.get(name, "") for name in ("biz_type__id__exact", "open"))
        names = series_names(stored_filter(operation) for operation in self.result_list)
        self.rows = [OperationRow.of(operation, site=site, series=names) for operation in self.result_list]


class OperationAdmin(OperationPages, OnlyRead, PossibleRows):
    """The history of operations. They are planned from the list of jobs, and none is changed or deleted by hand.

    There is no form: who may apply a verb may start and stop operations with it.
    """

    list_display = ["__str__"]
    list_filter = [OpenFilter, ("biz_type", BizTypeFilter)]
    named_lookups = frozenset({"biz_type__id__exact", "open"})
    list_select_related = ["biz_type__tenant"]
    list_per_page = 50
    list_max_show_all = 0
    paginator = BoundedPaginator
    show_full_result_count = False
    show_facets = admin.ShowFacets.NEVER
    ordering = ["-id"]
    actions = None

    class Media:
        css = {"all": ["tasksapp/operations.css"]}

    def has_view_permission(self, request: HttpRequest, obj: Operation | None = None) -> bool:
        """Whether the person may see operations, or may do what they do."""
        return super().has_view_permission(request, obj) or any(may(request.user, verb) for verb in VERBS)

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        """The history, with its own title."""
        title = str(self.opts.verbose_name_plural).capitalize()
        return super().changelist_view(request, {"title": title, **(extra_context or {})})

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[ChangeList]:
        """The list with our rows."""
        del request, kwargs
        return OperationChangeList


def labels() -> list[tuple[int, str]]:
    """The ids and the labels of the biz types, by code."""
    rows = BizType.objects.select_related("tenant").only("code", "tenant__code").order_by("code")
    return [(row.pk, row.label) for row in rows[:MOST_BIZ_TYPES]]
