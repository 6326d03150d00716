"""The views of jobs: each reads a request, calls one verb, and answers with the result."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar
from uuid import UUID

from django.db.models import QuerySet
from django.http import Http404, HttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from tasksapp import jobs
from tasksapp.api.creation import create_job, create_jobs
from tasksapp.api.http.actors import actor_of
from tasksapp.api.http.openapi import described
from tasksapp.api.http.paging import FirstAttemptFirst
from tasksapp.api.http.parameters import Parameters
from tasksapp.api.http.view import ApiViewSet
from tasksapp.api.job_changing import (
    CHANGE_PARAMETERS,
    change,
    change_fields,
    changeable,
    changing,
    redrive_fields,
    verb_fields,
)
from tasksapp.api.job_listing import DEAD_PARAMETERS, LIST_PARAMETERS, JobPageSerializer, list_jobs
from tasksapp.api.job_reading import READ_PARAMETERS, READ_RESPONSES, read_job, shown
from tasksapp.api.plan_requests import RedriveJobRequestSerializer
from tasksapp.api.representation.attempt import AttemptSerializer, attempt_json
from tasksapp.api.representation.job import BulkAnswerSerializer, CreatedJobSerializer, JobSerializer
from tasksapp.api.requests import (
    BulkRequestSerializer,
    ChangeJobRequestSerializer,
    JobRequestSerializer,
    VersionRequestSerializer,
)
from tasksapp.biz_types.visible import visible_jobs
from tasksapp.models import Attempt, Job
from tasksapp.models.api_key import Scope

IDEMPOTENCY_HEADER = OpenApiParameter(
    "Idempotency-Key",
    {"type": "string", "minLength": 1, "maxLength": 400},
    OpenApiParameter.HEADER,
    description='One string in quotes, such as `"close-42"`: the same request again makes no second job. The same as'
    " `idempotency_key`; in a bulk, each job without a key of its own has this one and its place.",
)
#: Headers of the answers to creates.
_ETAG = OpenApiParameter(
    "ETag", OpenApiTypes.STR, OpenApiParameter.HEADER, response=[200, 201], description="Names the job's state."
)
_LOCATION = OpenApiParameter(
    "Location", OpenApiTypes.STR, OpenApiParameter.HEADER, response=[200, 201], description="The job's address."
)
_LIMITS = [
    OpenApiParameter(name, OpenApiTypes.STR, OpenApiParameter.HEADER, response=[200, 201, 207], description=about)
    for name, about in {
        "RateLimit-Policy": "The insert limit of the biz type, if it has one: `q` jobs in `w` seconds.",
        "RateLimit": "What is left of it: it takes `r` jobs now; in `t` seconds more.",
    }.items()
]


class JobViews(ApiViewSet):
    """Jobs."""

    queryset = Job.objects.select_related("biz_type")
    serializer_class = JobSerializer
    pagination_class = None
    lookup_value_regex = "[0-9a-fA-F-]{36}"
    scopes: ClassVar = {
        "create": Scope.JOBS_WRITE,
        "bulk": Scope.JOBS_WRITE,
        "list": Scope.JOBS_READ,
        "dead": Scope.JOBS_READ,
        "retrieve": Scope.JOBS_READ,
        "attempts": Scope.JOBS_READ,
        "partial_update": Scope.JOBS_WRITE,
        "cancel": Scope.JOBS_WRITE,
        "run": Scope.JOBS_ACT,
        "run_again": Scope.JOBS_ACT,
        "redrive": Scope.JOBS_ACT,
        "drop": Scope.JOBS_ACT,
    }

    def get_queryset(self) -> QuerySet[Job]:
        """The jobs that the caller sees."""
        return visible_jobs(self.request.user)

    # ------------------------------------------------------------ creating

    @described(
        summary="Create a job",
        request=JobRequestSerializer,
        parameters=[IDEMPOTENCY_HEADER, _ETAG, _LOCATION, *_LIMITS],
        responses={
            201: CreatedJobSerializer,
            200: OpenApiResponse(CreatedJobSerializer, "The job that the key of an earlier request made."),
        },
    )
    def create(self, request: Request) -> HttpResponse:
        """Creates a job. Where its due time has passed, it fires at once and `past_due` is true."""
        return create_job(request._request)

    @described(
        summary="Create jobs",
        request=BulkRequestSerializer,
        parameters=[IDEMPOTENCY_HEADER, *_LIMITS],
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

    @described(summary="List jobs", parameters=LIST_PARAMETERS, responses=JobPageSerializer)
    def list(self, request: Request) -> Response:
        """A page of jobs, the newest first, or in another order that an index has."""
        return list_jobs(request)

    @described(summary="List dead jobs", parameters=DEAD_PARAMETERS, responses=JobPageSerializer)
    @action(detail=False, methods=["get"])
    def dead(self, request: Request) -> Response:
        """A page of the jobs that were given up and wait for a person, those that died last first."""
        return list_jobs(request, dead=True)

    @described(summary="Read a job", parameters=READ_PARAMETERS, responses=READ_RESPONSES)
    def retrieve(self, request: Request, pk: str) -> Response:
        """The job with that id, or 304 where `If-None-Match` names the state that it is in."""
        found = visible_jobs(request.user).filter(id=job_id(pk))
        return read_job(request, found, missing=f"There is no job {pk}.")

    @described(summary="List a job's attempts", responses=AttemptSerializer(many=True), filters=False)
    @action(detail=True, methods=["get"], pagination_class=FirstAttemptFirst)
    def attempts(self, request: Request, pk: str) -> Response:
        """A page of the attempts to deliver the job, the oldest first."""
        Parameters(request, ("cursor", "limit"))  # refuses others
        if not visible_jobs(request.user).filter(id=job_id(pk)).exists():
            raise Http404(f"There is no job {pk}.")
        page = self.paginate_queryset(Attempt.objects.filter(job_id=job_id(pk)))
        assert page is not None
        return self.get_paginated_response([attempt_json(attempt) for attempt in page])

    # ------------------------------------------------------------ changing

    @described(
        summary="Change a job",
        parameters=CHANGE_PARAMETERS,
        request=ChangeJobRequestSerializer,
        responses=JobSerializer,
    )
    def partial_update(self, request: Request, pk: str) -> Response:
        """Changes a pending job: its time, body, priority or attempts."""
        fields = change_fields(request)
        with changing(request, changeable(request), job_id=job_id(pk), version=fields.get("version")):
            return shown(change(job_id(pk), fields, by=actor_of(request)))

    @described(
        summary="Cancel a job", parameters=CHANGE_PARAMETERS, request=VersionRequestSerializer, responses=JobSerializer
    )
    @action(detail=True, methods=["post"])
    def cancel(self, request: Request, pk: str) -> Response:
        """Cancels a pending job: after an answer of 200, nothing is sent."""
        return _apply(jobs.cancel, request, pk)

    @described(
        summary="Run a job now", parameters=CHANGE_PARAMETERS, request=VersionRequestSerializer, responses=JobSerializer
    )
    @action(detail=True, methods=["post"])
    def run(self, request: Request, pk: str) -> Response:
        """Makes a pending job due at once. If its biz type is paused, the job still waits."""
        return _apply(jobs.run_now, request, pk)

    @described(
        summary="Run a job again",
        parameters=CHANGE_PARAMETERS,
        request=VersionRequestSerializer,
        responses={201: JobSerializer},
    )
    @action(detail=True, methods=["post"], url_path="run-again")
    def run_again(self, request: Request, pk: str) -> Response:
        """Makes a new job, due at once, with what the job carries. The receiver sees another `webhook-id`."""
        version = verb_fields(request).get("version")
        with changing(request, changeable(request), job_id=job_id(pk), version=version):
            made = jobs.run_again(job_id(pk), by=actor_of(request))
        answer = shown(made.job)
        answer.status_code = 201
        return answer

    @described(
        summary="Redrive a job",
        parameters=CHANGE_PARAMETERS,
        request=RedriveJobRequestSerializer,
        responses=JobSerializer,
    )
    @action(detail=True, methods=["post"])
    def redrive(self, request: Request, pk: str) -> Response:
        """Tries a dead job again, with a new budget of attempts."""
        return _apply(jobs.redrive, request, pk, fields=redrive_fields(request))

    @described(
        summary="Drop a job", parameters=CHANGE_PARAMETERS, request=VersionRequestSerializer, responses=JobSerializer
    )
    @action(detail=True, methods=["post"])
    def drop(self, request: Request, pk: str) -> Response:
        """Drops a dead job for good."""
        return _apply(jobs.drop, request, pk)


def _apply(verb: Callable[..., Job], request: Request, pk: str, *, fields: dict[str, Any] | None = None) -> Response:
    given = verb_fields(request) if fields is None else fields
    with changing(request, changeable(request), job_id=job_id(pk), version=given.get("version")):
        return shown(verb(job_id(pk), **given, by=actor_of(request)))


def job_id(text: str) -> UUID:
    """The job id in an address. Raises Http404 where it is none."""
    try:
        return UUID(text)
    except ValueError:
        raise Http404(f"There is no job {text}.") from None
