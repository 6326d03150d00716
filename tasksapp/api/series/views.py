"""The views of series: jobs that repeat. Each reads a request, calls one verb, and shows the row."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from django.db.models import QuerySet
from django.utils import timezone
from django_filters import rest_framework as filters
from drf_spectacular.utils import OpenApiResponse
from rest_framework.request import Request
from rest_framework.response import Response

from delayhub.api_models import series as answers
from tasksapp import operations
from tasksapp.api.biz_types.changes import IF_MATCH
from tasksapp.api.http.answers import json_of, serializer_of, timestamp
from tasksapp.api.http.authentication import actor_of, starter_of
from tasksapp.api.http.conditions import check_match, condition_required, has_condition
from tasksapp.api.http.endpoint import endpoint
from tasksapp.api.http.paging import NewestNumberFirst
from tasksapp.api.http.parameters import RefusingFilters, TrueOrFalse
from tasksapp.api.http.view import ApiViewSet
from tasksapp.api.jobs.exact_body import with_bytes
from tasksapp.api.jobs.representation import carried_json
from tasksapp.api.keys.requests import unchanged
from tasksapp.api.operations.views import OperationSerializer, operation_json
from tasksapp.api.series.requests import (
    BackfillRequestSerializer,
    ChangeSeriesRequestSerializer,
    PreviewScheduleRequestSerializer,
    ReasonRequestSerializer,
    SeriesRequestSerializer,
)
from tasksapp.conf import options
from tasksapp.errors import InvalidSeries
from tasksapp.jobs.validation import VERSION, Whole
from tasksapp.models import BizType, Series
from tasksapp.models.api_key import Scope
from tasksapp.series import outlook, verbs
from tasksapp.series.lookup import find, visible_series
from tasksapp.series.outlook import Preview, coming, words_of


def series_json(series: Series) -> dict[str, Any]:
    """A series, as :class:`JobSeriesSerializer` describes it."""
    next_at, words = None, ""
    try:
        words = words_of(series)
        if not series.is_paused:
            next_at = next(iter(coming(series, after=timezone.now(), most=1)), None)
    except InvalidSeries as error:
        words = str(error)
    return json_of(
        answers.JobSeries,
        series,
        biz_type=series.biz_type.code,
        times=[timestamp(datetime.fromisoformat(each)) for each in series.times],
        words=words,
        next_at=next_at,
        **carried_json(series),
    )


def preview_json(preview: Preview) -> dict[str, Any]:
    """A preview, as :class:`SchedulePreviewSerializer` describes it."""
    return {"words": preview.words, "occurrences": [timestamp(each) for each in preview.occurrences]}


def etag_of(series: Series) -> str:
    """What ``If-Match`` compares: another one after each change by a person or a caller."""
    return f'"{series.pk}-{series.version}"'


def _example() -> dict[str, Any]:
    at = datetime(2027, 1, 31, 8, 30, tzinfo=UTC)
    series = Series(
        id=12, biz_type=BizType(id=1, code="report.daily"), name="morning", cron="0 9 * * 1-5",
        time_zone="Asia/Shanghai", body='{"report": "sales"}', made=17, created_at=at, updated_at=at,
        paused_at=at,
    )  # fmt: skip
    shown = series_json(series)
    return {**shown, "next_at": "2027-02-01T01:00:00Z", "paused_at": None}


JobSeriesSerializer = serializer_of(answers.JobSeries, example=_example())
SchedulePreviewSerializer = serializer_of(
    answers.SchedulePreview,
    example={
        "words": "At 09:00, Monday through Friday (Asia/Shanghai time)",
        "occurrences": ["2027-02-01T01:00:00Z", "2027-02-02T01:00:00Z"],
    },
)
TriggeredJobSerializer = serializer_of(
    answers.Triggered, name="TriggeredJob", example={"job_id": "01a1fcb9-e182-7773-bac4-bf777e5e56f2"}
)


_MOST = Whole(least=1, most=outlook.MOST, field="most")


class SeriesFilters(filters.FilterSet):  # type: ignore[misc]  # django-filter has no types
    """Filters of the list of series."""

    biz_type = filters.CharFilter(field_name="biz_type__code")
    name = filters.CharFilter()
    paused = TrueOrFalse(field_name="paused_at", lookup_expr="isnull", exclude=True)

    class Meta:
        model = Series
        fields: list[str] = []


class SeriesViews(ApiViewSet):
    """Series of the caller's tenant and biz types."""

    queryset = Series.objects.select_related("biz_type")
    serializer_class = JobSeriesSerializer
    pagination_class = NewestNumberFirst
    filter_backends = [RefusingFilters]
    filterset_class = SeriesFilters
    lookup_value_regex = "[0-9]{1,18}"

    def get_queryset(self) -> QuerySet[Series]:
        """The series that the caller sees."""
        return visible_series(self.request.user)

    @endpoint("List series", Scope.JOBS_READ)
    def list(self, request: Request) -> Response:
        """A page of series, the newest first."""
        page = self.paginate_queryset(self.filter_queryset(self.get_queryset()))
        assert page is not None
        return self.get_paginated_response([series_json(series) for series in page])

    @endpoint("Read a series", Scope.JOBS_READ)
    def retrieve(self, request: Request, pk: str) -> Response:
        """The series with that number."""
        return _shown(find(int(pk), seen_by=request.user))

    @endpoint("Create a series", Scope.JOBS_WRITE, takes=SeriesRequestSerializer, status=201)
    def create(self, request: Request, fields: dict[str, Any]) -> Response:
        """Makes a series. Its next occurrence is a job at once; the others are made shortly before they are due."""
        code = fields.pop("biz_type")
        row = verbs.create(code, seen_by=request.user, by=actor_of(request), **with_bytes(fields))
        return _shown(row, status=201, headers={"Location": f"{request.path}/{row.pk}"})

    @endpoint("Change a series", Scope.JOBS_WRITE, takes=ChangeSeriesRequestSerializer, parameters=[IF_MATCH])
    def partial_update(self, request: Request, pk: str, fields: dict[str, Any]) -> Response:
        """Changes the fields that are given. Jobs to come that no worker has taken are made again, or rewritten."""
        version = _version(request, pk, VERSION(fields.pop("version", None)))
        row = verbs.change(int(pk), version=version, seen_by=request.user, by=actor_of(request), **with_bytes(fields))
        return _shown(row)

    @endpoint(
        "Delete a series",
        Scope.JOBS_WRITE,
        gives={204: OpenApiResponse(description="It is gone.")},
        parameters=[IF_MATCH],
    )
    def destroy(self, request: Request, pk: str) -> Response:
        """Deletes a series and those of its jobs that no worker has taken; the others stay."""
        verbs.delete(int(pk), version=_version(request, pk, None), seen_by=request.user, by=actor_of(request))
        return Response(status=204)

    @endpoint("Pause a series", Scope.JOBS_WRITE, post="pause", takes=ReasonRequestSerializer)
    def pause(self, request: Request, pk: str, fields: dict[str, Any]) -> Response:
        """Holds it until somebody resumes it. What is due or runs already goes on."""
        return _shown(verbs.pause(int(pk), reason=_reason(fields), seen_by=request.user, by=actor_of(request)))

    @endpoint("Resume a series", Scope.JOBS_WRITE, post="resume", takes=ReasonRequestSerializer)
    def resume(self, request: Request, pk: str, fields: dict[str, Any]) -> Response:
        """Lets it go on with its next occurrence; nothing of the pause is caught up."""
        return _shown(verbs.resume(int(pk), reason=_reason(fields), seen_by=request.user, by=actor_of(request)))

    @endpoint(
        "Trigger a series",
        Scope.JOBS_WRITE,
        post="trigger",
        takes=ReasonRequestSerializer,
        status=201,
        gives=TriggeredJobSerializer,
    )
    def trigger(self, request: Request, pk: str, fields: dict[str, Any]) -> Response:
        """Makes a job of it that is due now, beside its occurrences; also of one that is paused."""
        job_id = verbs.trigger(int(pk), reason=_reason(fields), seen_by=request.user, by=actor_of(request))
        return Response({"job_id": str(job_id)}, status=201)

    @endpoint(
        "Plan a backfill",
        Scope.JOBS_ACT,
        post="backfill",
        takes=BackfillRequestSerializer,
        status=201,
        gives=OperationSerializer,
    )
    def backfill(self, request: Request, pk: str, fields: dict[str, Any]) -> Response:
        """Counts its past occurrences of that time that have no job. The operation makes them once it is started."""
        with unchanged(request.user):  # the operation names the key, and goes on only as long as that may
            operation = operations.plan_backfill(int(pk), by=starter_of(request), seen_by=request.user, **fields)
        address = f"{request.path.partition('/series/')[0]}/operations/{operation.pk}"
        return Response(operation_json(operation), status=201, headers={"Location": address})

    @endpoint(
        "Preview a schedule",
        Scope.JOBS_READ,
        post="preview",
        takes=PreviewScheduleRequestSerializer,
        gives=SchedulePreviewSerializer,
        detail=False,
        options={"filter_backends": [], "pagination_class": None},
    )
    def preview(self, request: Request, fields: dict[str, Any]) -> Response:
        """The next moments of a schedule, and what it means in words. Nothing is stored."""
        most = _MOST(fields.pop("most", None)) or 10
        return Response(preview_json(outlook.preview(most=most, **fields)))


def _reason(fields: dict[str, Any]) -> str:
    reason: str = fields.get("reason", "")
    return reason.strip()


def _version(request: Request, pk: str, version: int | None) -> int | None:
    """The version that the caller saw, by the body or by ``If-Match``; None for any. Raises Refused."""
    if has_condition(request):
        row = find(int(pk), seen_by=request.user)
        check_match(request, etag_of(row))
        any_version = request.META["HTTP_IF_MATCH"].strip() == "*"
        return version if any_version else row.version
    if version is None and options().rest_changes == "conditional":
        find(int(pk), seen_by=request.user)
        raise condition_required()
    return version


def _shown(series: Series, *, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    return Response(series_json(series), status=status, headers={"ETag": etag_of(series), **(headers or {})})
