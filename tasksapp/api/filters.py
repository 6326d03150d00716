"""Filters of lists by django-filter: what is not valid is refused."""

from __future__ import annotations

from typing import Any

from django.db.models import QuerySet
from django_filters import rest_framework as filters
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema_field
from rest_framework.request import Request
from rest_framework.views import APIView

from tasksapp.api.http.problems import FieldError, Problem, Refused


@extend_schema_field(OpenApiTypes.BOOL)
class TrueOrFalse(filters.TypedChoiceFilter):  # type: ignore[misc]  # django-filter has no types
    """``true`` or ``false``: django-filter's own takes every other text as if the filter were left out."""

    def __init__(self, **options: Any) -> None:
        super().__init__(choices=[("true", "true"), ("false", "false")], coerce=lambda text: text == "true", **options)


class RefusingFilters(filters.DjangoFilterBackend):  # type: ignore[misc]  # django-filter has no types
    """django-filter's backend, which refuses values that are not valid, and names of filters that do not exist."""

    def filter_queryset(self, request: Request, queryset: QuerySet[Any], view: APIView) -> QuerySet[Any]:
        """The rows that pass all filters. Raises Refused (400)."""
        filterset = self.get_filterset(request, queryset, view)
        if filterset is None:
            return queryset
        known = {*filterset.filters, "cursor", "limit", "format"}
        errors = [
            FieldError(name[:100], "unknown", f"there is no filter {name[:100]!r}")
            for name in request.query_params
            if name not in known
        ]
        # An empty choice would be taken for no filter at all, and give back everything.
        errors += [
            FieldError(name, "invalid", f"{name} must not be empty")
            for name, rule in filterset.filters.items()
            if isinstance(rule, filters.ChoiceFilter | filters.MultipleChoiceFilter)
            and "" in request.query_params.getlist(name)
        ]
        if not filterset.is_valid():
            for name, messages in filterset.errors.get_json_data().items():
                errors += [FieldError(name, entry["code"] or "invalid", entry["message"]) for entry in messages]
        if any("\x00" in str(value) for value in request.query_params.values()):
            errors.append(FieldError(None, "invalid", "a filter may not hold the character NUL"))
        if errors:
            raise Refused(Problem(status=400, code="invalid", detail=errors[0].message, errors=errors))
        rows: QuerySet[Any] = filterset.qs
        return rows
