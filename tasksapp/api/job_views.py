"""The views of jobs: each reads a request, calls one verb, and answers with the result."""

from __future__ import annotations

from typing import Any, ClassVar
from uuid import UUID

from django.http import Http404, HttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from tasksapp import jobs
from tasksapp.api.creation import create_job, create_jobs
from tasksapp.api.filters import JobFilters, RefusingFilters
from tasksapp.api.http.actors import actor_of
from tasksapp.api.http.openapi import described
from tasksapp.api.http.paging import NewestFirst
from tasksapp.api.http.view import ApiViewSet, fields_of
from tasksapp.api.representation.attempt import AttemptSerializer, attempt_json
from tasksapp.api.representation.job import BulkAnswerSerializer, CreatedJobSerializer, JobSerializer, job_json
from tasksapp.api.requests import (
    MOVE_FIELDS,
    VERB_FIELDS,
    BulkRequestSerializer,
    JobRequestSerializer,
    MoveRequestSerializer,
    VerbRequestSerializer,
    only_known,
)
from tasksapp.models import Attempt, Job
from tasksapp.models.api_key import Scope

IDEMPOTENCY_HEADER = OpenApiParameter(
    "Idempotency-Key", OpenApiTypes.STR, OpenApiParameter.HEADER, description="The same as `idempotency_key`."
)


class JobViews(ApiViewSet):
    """Jobs."""

    queryset = Job.objects.select_related("biz_type")
    serializer_class = JobSerializer
    pagination_class = NewestFirst
    filter_backends = [RefusingFilters]
    filterset_class = JobFilters
    lookup_value_regex = "[0-9a-fA-F-]{36}"
    scopes: ClassVar = {
        "create": Scope.JOBS_WRITE,
        "bulk": Scope.JOBS_WRITE,
        "list": Scope.JOBS_READ,
        "retrieve": Scope.JOBS_READ,
        "attempts": Scope.JOBS_READ,
        "partial_update": Scope.JOBS_WRITE,
        "cancel": Scope.JOBS_WRITE,
        "run": Scope.JOBS_ACT,
        "redrive": Scope.JOBS_ACT,
        "drop": Scope.JOBS_ACT,
    }

    # ------------------------------------------------------------ creating

    @described(
        summary="Create a job",
        request=JobRequestSerializer,
        parameters=[IDEMPOTENCY_HEADER],
        responses={
            201: CreatedJobSerializer,
            200: OpenApiResponse(CreatedJobSerializer, "The job that the key of an earlier request made."),
        },
    )
    def create(self, request: Request) -> HttpResponse:
        """Creates a job. Where its due time has passed, it fires at once and `past_due` is true."""
        return create_job(request._request)

    @described(
        summary="Create many jobs",
        request=BulkRequestSerializer,
        responses={
            201: BulkAnswerSerializer,
            207: OpenApiResponse(BulkAnswerSerializer, "Some jobs were refused; the others were created."),
        },
    )
    @action(detail=False, methods=["post"])
    def bulk(self, request: Request) -> HttpResponse:
        """Creates up to 1 000 jobs. A job that is refused does not keep the others from being created.

        The request may have 8 MB, or as many bytes as the setting `BULK_BYTES` says.
        """
        return create_jobs(request._request)

    # ------------------------------------------------------------ reading

    @described(summary="List jobs", responses=JobSerializer(many=True))
    def list(self, request: Request) -> Response:
        """A page of jobs, the newest first."""
        page = self.paginate_queryset(self.filter_queryset(self.get_queryset()))
        assert page is not None
        return self.get_paginated_response([job_json(job, biz_type=job.biz_type.code) for job in page])

    @described(summary="Read a job", responses=JobSerializer)
    def retrieve(self, request: Request, pk: str) -> Response:
        """The job with that id."""
        job = self.get_queryset().filter(id=job_id(pk)).first()
        if job is None:
            raise Http404(f"There is no job {pk}.")
        return shown(job)

    @described(summary="List a job's attempts", responses=AttemptSerializer(many=True), filters=False)
    @action(detail=True, methods=["get"], pagination_class=None)
    def attempts(self, request: Request, pk: str) -> Response:
        """Every attempt to deliver the job, the oldest first."""
        if not Job.objects.filter(id=job_id(pk)).exists():
            raise Http404(f"There is no job {pk}.")
        return Response(
            [attempt_json(attempt) for attempt in Attempt.objects.filter(job_id=job_id(pk)).order_by("number")]
        )

    # ------------------------------------------------------------ changing

    @described(summary="Move a job", request=MoveRequestSerializer, responses=JobSerializer)
    def partial_update(self, request: Request, pk: str) -> Response:
        """Moves a pending job to another time."""
        fields = fields_of(request)
        only_known(fields, MOVE_FIELDS)
        return shown(jobs.reschedule(job_id(pk), **fields, by=actor_of(request)))

    @described(summary="Cancel a job", request=VerbRequestSerializer, responses=JobSerializer)
    @action(detail=True, methods=["post"])
    def cancel(self, request: Request, pk: str) -> Response:
        """Cancels a pending job: after an answer of 200, nothing is sent."""
        return shown(jobs.cancel(job_id(pk), **version_of(request), by=actor_of(request)))

    @described(summary="Run a job now", request=VerbRequestSerializer, responses=JobSerializer)
    @action(detail=True, methods=["post"])
    def run(self, request: Request, pk: str) -> Response:
        """Makes a pending job due at once. If its biz type is paused, the job still waits."""
        return shown(jobs.run_now(job_id(pk), **version_of(request), by=actor_of(request)))

    @described(summary="Redrive a dead job", request=VerbRequestSerializer, responses=JobSerializer)
    @action(detail=True, methods=["post"])
    def redrive(self, request: Request, pk: str) -> Response:
        """Tries a dead job again, with a new budget of attempts."""
        return shown(jobs.redrive(job_id(pk), **version_of(request), by=actor_of(request)))

    @described(summary="Drop a dead job", request=VerbRequestSerializer, responses=JobSerializer)
    @action(detail=True, methods=["post"])
    def drop(self, request: Request, pk: str) -> Response:
        """Drops a dead job for good."""
        return shown(jobs.drop(job_id(pk), **version_of(request), by=actor_of(request)))


def job_id(text: str) -> UUID:
    """The job id in an address. Raises Http404 where it is none."""
    try:
        return UUID(text)
    except ValueError:
        raise Http404(f"There is no job {text}.") from None


def shown(job: Job) -> Response:
    """The answer with a job."""
    return Response(job_json(job, biz_type=job.biz_type.code))


def version_of(request: Request) -> dict[str, Any]:
    """The version that the caller of a verb saw, if the request has it. Raises Refused (400)."""
    fields = fields_of(request)
    only_known(fields, VERB_FIELDS)
    return fields
