"""PossibleRows: lists of rows are filtered, searched and paged by what a row can have, and at a bounded price."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from functools import cached_property
from typing import Any, cast

from django.contrib import admin
from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.core.exceptions import BadRequest, ValidationError
from django.core.paginator import Paginator
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.utils.dateparse import parse_datetime

from tasksapp.models import Tenant
from tasksapp.stats.counts import bounded_count

#: No searched column is longer than what a description may have; SQLite takes patterns of 50 000 bytes.
LONGEST_SEARCH = 1_000
#: PostgreSQL takes no greater offset from UTC.
MOST_OFFSET = timedelta(hours=15, minutes=59)


class PossibleRows(admin.ModelAdmin):  # type: ignore[type-arg]  # it takes no argument at run time
    """A ModelAdmin that asks the database for no id that cannot be one, and for no endless text.

    Lists take the lookups that are named here, and no others. Django lets people filter by any column and any lookup.
    So they could read sealed values letter by letter (``signing_secret_sealed__startswith``), and keep the database
    busy with a costly pattern (``body__regex``).
    """

    #: Lookups that the filters and links of the list use, such as ``status__exact``.
    named_lookups: frozenset[str] = frozenset()

    class Media:
        css = {"all": ["tasksapp/admin.css", "tasksapp/pages.css"]}

    def lookup_allowed(self, lookup: str, value: str, request: HttpRequest) -> bool:
        """Whether the list may be filtered so; Django answers 400 where it may not."""
        del request
        return lookup in self.named_lookups and _is_possible(value)

    def response_action(
        self, request: HttpRequest, queryset: QuerySet[Any], *args: Any, **kwargs: Any
    ) -> HttpResponse | None:
        """Runs the chosen action. Raises BadRequest where a chosen row has no id that can be one."""
        key = self.opts.pk
        assert key is not None
        try:
            for chosen in request.POST.getlist(ACTION_CHECKBOX_NAME):
                key.clean(chosen, None)
        except ValidationError:
            raise BadRequest("One of the chosen rows has no valid id.") from None
        return super().response_action(request, queryset, *args, **kwargs)

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        """The rows that match; none for a text that is too long."""
        if len(search_term) > LONGEST_SEARCH:
            return queryset.none(), False
        return super().get_search_results(request, queryset, search_term)


class LockedRows(PossibleRows):
    """Rows that are changed by a form of Django's, one person after another."""

    def get_object(self, request: HttpRequest, object_id: str, from_field: str | None = None) -> Any:
        """The row. One that is about to be changed is locked, so that the form is compared with what others stored."""
        row = super().get_object(request, object_id, from_field)
        if row is not None and request.method == "POST":
            self.model._default_manager.select_for_update(no_key=True).filter(pk=row.pk).first()
            row.refresh_from_db()
        return row


class OnlyRead(admin.ModelAdmin):  # type: ignore[type-arg]  # it takes no argument at run time
    """A part of a ModelAdmin whose rows no person types into a form of Django's."""

    def has_add_permission(self, request: HttpRequest) -> bool:
        """False."""
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """False."""
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """False."""
        return False


class BoundedPaginator(Paginator):  # type: ignore[type-arg]  # it takes no argument at run time
    """Counts at most ``FARTHEST`` rows. What lies deeper is found by filters and search, not by turning pages."""

    @cached_property
    def count(self) -> int:
        """How many rows there are, or ``FARTHEST`` where there are more."""
        return bounded_count(cast("QuerySet[Any]", self.object_list))


def has_tenants() -> bool:
    """Whether there are several tenants."""
    return len(Tenant.objects.values_list("pk")[:2]) > 1


def _is_possible(value: str) -> bool:
    """Whether a database takes the value: for NUL or a time out of its range it would raise an error."""
    if "\0" in value:
        return False
    try:
        time = parse_datetime(value)
    except ValueError:
        return True  # Django refuses it where a time is wanted
    return time is None or _is_in_range(time)


def _is_in_range(time: datetime) -> bool:
    if timezone.is_naive(time):
        time = timezone.make_aware(time)  # as Django reads it
    try:
        time.astimezone(UTC)
    except (OverflowError, ValueError):
        return False
    return abs(time.utcoffset() or timedelta()) <= MOST_OFFSET
