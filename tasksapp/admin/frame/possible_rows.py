"""PossibleRows: rows are chosen and searched for by what a row can have."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.core.exceptions import BadRequest, ValidationError
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse

#: No searched column is longer than what a description may have; SQLite takes patterns of 50 000 bytes.
LONGEST_SEARCH = 1_000


class PossibleRows(admin.ModelAdmin):  # type: ignore[type-arg]  # it takes no argument at run time
    """A ModelAdmin that asks the database for no id that cannot be one, and for no endless text."""

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
