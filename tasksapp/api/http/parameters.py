"""Parameters: the query of an address, read strictly, with a refusal that names each that is wrong."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime
from typing import Any

from django.db.models import QuerySet
from django.utils.dateparse import parse_datetime
from django_filters import rest_framework as filters
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema_field
from rest_framework.request import Request
from rest_framework.views import APIView

from delayhub.api_models.problems import FieldError
from tasksapp.api.http.problems import Refused, refused
from tasksapp.jobs.validation import utc_moment


class Parameters:
    """The parameters of a request. Each is given once.

    Raises Refused (400) where there is one that is not known, or one is given twice.
    """

    def __init__(self, request: Request, known: Collection[str]) -> None:
        self._given = request.query_params
        for name in self._given:
            if name not in known and name != "format":
                raise refused(name[:100], "unknown", f"there is no parameter {name[:100]!r}")
            if len(self._given.getlist(name)) > 1:
                raise refused(name, "twice", f"{name} may be given once")

    def has(self, name: str) -> bool:
        """Whether the parameter is given."""
        return name in self._given

    def text(self, name: str, *, longest: int = 200) -> str | None:
        """A text; None where it is not given. Raises Refused."""
        given = self._given.get(name)
        if given is not None and (not given or len(given) > longest or "\0" in given):
            raise refused(name, "invalid", f"{name} must be a text of 1 to {longest} characters")
        return given

    def whole(self, name: str, *, least: int, most: int, default: int) -> int:
        """A whole number. Raises Refused."""
        given = self._given.get(name)
        if given is None:
            return default
        if not (given.isascii() and given.isdigit() and len(given) <= 19 and least <= int(given) <= most):
            raise refused(name, "invalid", f"{name} must be a whole number from {least} to {most}, got {given!r:.80}")
        return int(given)

    def moment(self, name: str) -> datetime | None:
        """A moment, in UTC; None where it is not given. Raises Refused."""
        given = self._given.get(name)
        if given is None:
            return None
        try:
            # A plus that a client did not encode has become a blank.
            found = parse_datetime(given[:40].replace(" ", "+"))
            if found is not None and found.tzinfo is not None:
                return utc_moment(found)
        except (ValueError, OverflowError):
            pass
        raise refused(name, "invalid", f"{name} must be an ISO 8601 time with a time zone, got {given!r:.80}")

    def chosen(self, name: str, choices: Collection[str]) -> str | None:
        """One of some texts; None where it is not given. Raises Refused."""
        given = self._given.get(name)
        if given is not None and given not in choices:
            raise refused(name, "invalid", f"{name} must be one of {', '.join(choices)}, got {given!r:.80}")
        return given


def parameter(name: str, schema: dict[str, Any], description: str) -> OpenApiParameter:
    """How OpenAPI describes a parameter."""
    return OpenApiParameter(name, schema, description=description)


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
        # An empty one would be taken for no filter at all, and give back everything.
        errors += [
            FieldError(name, "invalid", f"{name} must not be empty")
            for name in filterset.filters
            if "" in request.query_params.getlist(name)
        ]
        if not filterset.is_valid():
            for name, messages in filterset.errors.get_json_data().items():
                errors += [FieldError(name, entry["code"] or "invalid", entry["message"]) for entry in messages]
        if any("\x00" in str(value) for value in request.query_params.values()):
            errors.append(FieldError(None, "invalid", "a filter may not hold the character NUL"))
        if errors:
            raise Refused.of("invalid", errors[0].message, errors=errors)
        rows: QuerySet[Any] = filterset.qs
        return rows
