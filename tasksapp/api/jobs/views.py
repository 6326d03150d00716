"""The views of jobs: each reads a request, calls one verb, and answers with the result."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import UUID

from django.db.models import QuerySet
from django.http import Http404, HttpResponse, StreamingHttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse
from rest_framework.request import Request
from rest_framework.response import Response

from tasksapp import jobs
from tasksapp.api.http.authentication import actor_of
from tasksapp.api.http.endpoint import endpoint
from tasksapp.api.http.paging import FirstAttemptFirst
from tasksapp.api.http.parameters import Parameters
from tasksapp.api.http.view import ApiViewSet
from tasksapp.api.jobs.changing import (
    change,
    changeable,
    changes,
    changing,
    redrive_fields,
)
from tasksapp.api.jobs.creation import IDEMPOTENCY_HEADER, create_job, create_jobs
from tasksapp.api.jobs.exporting import EXPORT_ANSWERS, EXPORT_PARAMETERS, export_jobs
from tasksapp.api.jobs.listing import DEAD_PARAMETERS, LIST_PARAMETERS, JobPageSerializer, list_jobs
from tasksapp.api.jobs.reading import READ_PARAMETERS, READ_RESPONSES, AttemptSerializer, attempt_json, read_job, shown
from tasksapp.api.jobs.representation import BulkAnswerSerializer, CreatedJobSerializer, JobSerializer
from tasksapp.api.jobs.requests import (
    BulkRequestSerializer,
    ChangeJobRequestSerializer,
    JobRequestSerializer,
    RedriveJobRequestSerializer,
)
from tasksapp.biz_types.visible import visible_jobs
from tasksapp.models import Attempt, Job
from tasksapp.models.api_key import Scope

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

    def get_queryset(self) -> QuerySet[Job]:
        """The jobs that the caller sees."""
        return visible_jobs(self.request.user)

    # ------------------------------------------------------------ creating

    @endpoint(
        "Create a job",
        Scope.JOBS_WRITE,
        request=JobRequestSerializer,
        gives={
            201: CreatedJobSerializer,
            200: OpenApiResponse(CreatedJobSerializer, "The job that the key of an earlier request made."),
        },
        parameters=[IDEMPOTENCY_HEADER, _ETAG, _LOCATION, *_LIMITS],
    )
    def create(self, request: Request) -> HttpResponse:
        """Creates a job. Where its due time has passed, it fires at once and `past_due` is true."""
        return create_job(request._request)

    @endpoint(
        "Create jobs",
        Scope.JOBS_WRITE,
        post="bulk",
        request=BulkRequestSerializer,
        gives={
            201: BulkAnswerSerializer,
            207: OpenApiResponse(BulkAnswerSerializer, "Some jobs were refused; the others were created."),
        },
        parameters=[IDEMPOTENCY_HEADER, *_LIMITS],
        detail=False,
    )
    def bulk(self, request: Request) -> HttpResponse:
        """Creates up to 1 000 jobs. A refused job does not stop the others, unless `together` is true.

        The request may have 8 MB, or as many bytes as the setting `BULK_BYTES` says.
        """
        return create_jobs(request._request)

    # ------------------------------------------------------------ reading

    @endpoint("List jobs", Scope.JOBS_READ, gives=JobPageSerializer, parameters=LIST_PARAMETERS)
    def list(self, request: Request) -> Response:
        """A page of jobs, the newest first, or in another order that an index has."""
        return list_jobs(request)

    @endpoint(
        "List dead jobs",
        Scope.JOBS_READ,
        get="dead",
        gives=JobPageSerializer,
        parameters=DEAD_PARAMETERS,
        detail=False,
    )
    def dead(self, request: Request) -> Response:
        """A page of the jobs that were given up and wait for a person, those that died last first."""
        return list_jobs(request, dead=True)

    @endpoint(
        "Export jobs",
        Scope.JOBS_EXPORT,
        get="export",
        gives=EXPORT_ANSWERS,
        parameters=EXPORT_PARAMETERS,
        detail=False,
    )
    def export(self, request: Request) -> StreamingHttpResponse:
        """All jobs that the filter names, with their bodies, as lines of JSON or as CSV: a file, sent as it is read.

        It is recorded who exports what, and how many rows. Masked fields are masked. Each job is as it is when its
        page is read. An answer that breaks off is not whole.
        """
        return export_jobs(request)

    @endpoint("Read a job", Scope.JOBS_READ, gives=READ_RESPONSES, parameters=READ_PARAMETERS)
    def retrieve(self, request: Request, pk: str) -> Response:
        """The job with that id, or 304 where `If-None-Match` names the state that it is in."""
        found = visible_jobs(request.user).filter(id=job_id(pk))
        return read_job(request, found, missing=f"There is no job {pk}.")

    @endpoint(
        "List a job's attempts",
        Scope.JOBS_READ,
        get="attempts",
        gives=AttemptSerializer(many=True),
        options={"pagination_class": FirstAttemptFirst},
    )
    def attempts(self, request: Request, pk: str) -> Response:
        """A page of the attempts to deliver the job, the oldest first."""
        Parameters(request, ("cursor", "limit"))  # refuses others
        if not visible_jobs(request.user).filter(id=job_id(pk)).exists():
            raise Http404(f"There is no job {pk}.")
        page = self.paginate_queryset(Attempt.objects.filter(job_id=job_id(pk)))
        assert page is not None
        return self.get_paginated_response([attempt_json(attempt) for attempt in page])

    # ------------------------------------------------------------ changing

    @changes("Change a job", Scope.JOBS_WRITE, takes=ChangeJobRequestSerializer)
    def partial_update(self, request: Request, pk: str, fields: dict[str, Any]) -> Response:
        """Changes a pending job: its time, body, priority or attempts."""
        return _apply(change, request, pk, fields)

    @changes("Cancel a job", Scope.JOBS_WRITE, post="cancel")
    def cancel(self, request: Request, pk: str, fields: dict[str, Any]) -> Response:
        """Cancels a pending job: after an answer of 200, nothing is sent."""
        return _apply(jobs.cancel, request, pk, fields)

    @changes("Run a job now", Scope.JOBS_ACT, post="run")
    def run(self, request: Request, pk: str, fields: dict[str, Any]) -> Response:
        """Makes a pending job due at once. If its biz type is paused, the job still waits."""
        return _apply(jobs.run_now, request, pk, fields)

    @changes("Run a job again", Scope.JOBS_ACT, post="run-again", status=201)
    def run_again(self, request: Request, pk: str, fields: dict[str, Any]) -> Response:
        """Makes a new job, due at once, with what the job carries. The receiver sees another `webhook-id`."""
        with changing(request, changeable(request), job_id=job_id(pk), version=fields.get("version")):
            made = jobs.run_again(job_id(pk), version=fields.get("version"), by=actor_of(request))
        return shown(made.job, status=201)

    @changes("Make what follows again", Scope.JOBS_ACT, post="follow-up", status=201)
    def follow_up(self, request: Request, pk: str, fields: dict[str, Any]) -> Response:
        """Makes what was to follow from an ended job and could not be made, as its last error says. Gives that job."""
        with changing(request, changeable(request), job_id=job_id(pk), version=fields.get("version")):
            made = jobs.follow_up_again(
                job_id(pk), version=fields.get("version"), seen_by=request.user, by=actor_of(request)
            )
        return shown(changeable(request).get(id=made), status=201)

    @changes("Redrive a job", Scope.JOBS_ACT, post="redrive", takes=RedriveJobRequestSerializer)
    def redrive(self, request: Request, pk: str, fields: dict[str, Any]) -> Response:
        """Tries a dead job again, with a new budget of attempts."""
        return _apply(jobs.redrive, request, pk, redrive_fields(fields))

    @changes("Drop a job", Scope.JOBS_ACT, post="drop")
    def drop(self, request: Request, pk: str, fields: dict[str, Any]) -> Response:
        """Drops a dead job for good."""
        return _apply(jobs.drop, request, pk, fields)


def _apply(verb: Callable[..., Job], request: Request, pk: str, fields: dict[str, Any]) -> Response:
    with changing(request, changeable(request), job_id=job_id(pk), version=fields.get("version")):
        return shown(verb(job_id(pk), **fields, by=actor_of(request)))


def job_id(text: str) -> UUID:
    """The job id in an address. Raises Http404 where it is none."""
    try:
        return UUID(text)
    except ValueError:
        raise Http404(f"There is no job {text}.") from None
