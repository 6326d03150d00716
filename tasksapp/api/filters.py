"""How lists of jobs are narrowed down."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from django.core.exceptions import ValidationError
from django.db.models import QuerySet
from django_filters import rest_framework as filters
from django_filters.fields import IsoDateTimeField
from rest_framework.request import Request
from rest_framework.views import APIView

from tasksapp.api.http.problems import FieldError, Problem, Refused
from tasksapp.models import Job, Status


class MomentField(IsoDateTimeField):  # type: ignore[misc]  # django-filter has no types
    """A moment in UTC: PostgreSQL takes no offsets beyond 15:59, and not every calendar has room for the sum."""

    def clean(self, value: Any) -> datetime | None:
        """The moment, or None for none."""
        moment: datetime | None = super().clean(value)
        try:
            return None if moment is None else moment.astimezone(UTC)
        except OverflowError:
            raise ValidationError("That moment is out of range.", code="invalid") from None


class MomentFilter(filters.IsoDateTimeFilter):  # type: ignore[misc]  # django-filter has no types
    """Compares with a moment."""

    field_class = MomentField


class JobFilters(filters.FilterSet):  # type: ignore[misc]  # django-filter has no types
    """Filters of the job list."""

    status = filters.MultipleChoiceFilter(choices=Status.choices, help_text="May be given several times.")
    biz_type = filters.CharFilter(field_name="biz_type__code")
    biz_id = filters.CharFilter()
    due_after = MomentFilter(field_name="due_at", lookup_expr="gte")
    due_before = MomentFilter(field_name="due_at", lookup_expr="lt")
    created_after = MomentFilter(field_name="created_at", lookup_expr="gte")
    created_before = MomentFilter(field_name="created_at", lookup_expr="lt")

    class Meta:
        model = Job
        fields: list[str] = []


class RefusingFilters(filters.DjangoFilterBackend):  # type: ignore[misc]  # django-filter has no types
    """django-filter's backend; a value that cannot be, or a name that means nothing, is Refused (400)."""

    def filter_queryset(self, request: Request, queryset: QuerySet[Any], view: APIView) -> QuerySet[Any]:
        """The rows that pass all filters."""
        filterset = self.get_filterset(request, queryset, view)
        if filterset is None:
            return queryset
        known = {*filterset.filters, "cursor", "limit", "format"}
        errors = [
            FieldError(name[:100], "unknown", f"there is no filter {name[:100]!r}")
            for name in request.query_params
            if name not in known
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
