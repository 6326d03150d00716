"""The filters of the list of jobs."""

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


class TimeField(IsoDateTimeField):  # type: ignore[misc]  # django-filter has no types
    """A time in UTC. PostgreSQL takes no offset beyond 15:59, and in UTC the time may be before the first year."""

    def clean(self, value: Any) -> datetime | None:
        """The time; None for none."""
        time: datetime | None = super().clean(value)
        try:
            return None if time is None else time.astimezone(UTC)
        except OverflowError:
            raise ValidationError("That time is out of range.", code="invalid") from None


class TimeFilter(filters.IsoDateTimeFilter):  # type: ignore[misc]  # django-filter has no types
    """Compares with a time."""

    field_class = TimeField


class JobFilters(filters.FilterSet):  # type: ignore[misc]  # django-filter has no types
    """Filters of the job list."""

    status = filters.MultipleChoiceFilter(choices=Status.choices, help_text="May be given several times.")
    biz_type = filters.CharFilter(field_name="biz_type__code")
    biz_id = filters.CharFilter()
    due_after = TimeFilter(field_name="due_at", lookup_expr="gte")
    due_before = TimeFilter(field_name="due_at", lookup_expr="lt")
    created_after = TimeFilter(field_name="created_at", lookup_expr="gte")
    created_before = TimeFilter(field_name="created_at", lookup_expr="lt")

    class Meta:
        model = Job
        fields: list[str] = []


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
        if not filterset.is_valid():
            for name, messages in filterset.errors.get_json_data().items():
                errors += [FieldError(name, entry["code"] or "invalid", entry["message"]) for entry in messages]
        if any("\x00" in str(value) for value in request.query_params.values()):
            errors.append(FieldError(None, "invalid", "a filter may not hold the character NUL"))
        if errors:
            raise Refused(Problem(status=400, code="invalid", detail=errors[0].message, errors=errors))
        rows: QuerySet[Any] = filterset.qs
        return rows
