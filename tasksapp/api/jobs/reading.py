"""Reading one job: with its ETag, and with a long poll where the caller wants to wait for a change."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from django.db.models import QuerySet
from django.http import Http404
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse
from rest_framework.request import Request
from rest_framework.response import Response

from delayhub.api_models import jobs as answers
from tasksapp.api.http.answers import json_of, serializer_of
from tasksapp.api.http.conditions import answer, is_known
from tasksapp.api.http.waiting import MOST_SECONDS, seconds_to_wait, wait_until
from tasksapp.api.jobs.representation import SHOWN, JobSerializer, etag_of, job_etag, job_json
from tasksapp.jobs.attempt_headers import attempt_headers
from tasksapp.models import LIVE, Attempt, Job

#: The answers to a read of one job, for OpenAPI.
READ_RESPONSES = {
    200: JobSerializer,
    304: OpenApiResponse(None, "The job is still in the state that `If-None-Match` names."),
}
#: What a read of one job takes beside its address, and what its answer has, for OpenAPI.
READ_PARAMETERS = [
    OpenApiParameter(
        "wait",
        {"type": "integer", "minimum": 0, "maximum": MOST_SECONDS},
        description="Seconds to wait for a change from the state in `If-None-Match`, or from the one the job is in"
        " now. Ends at once where the job has changed already or is finished.",
    ),
    OpenApiParameter(
        "If-None-Match", OpenApiTypes.STR, OpenApiParameter.HEADER, description="The ETag of the state you have."
    ),
    OpenApiParameter(
        "ETag", OpenApiTypes.STR, OpenApiParameter.HEADER, response=[200, 304], description="Names the job's state."
    ),
]

#: What an answer needs of a job and of its biz type.
_SHOWN = (*SHOWN, "raw", "biz_type__code", "biz_type__masked_fields")


def read_job(request: Request, found: QuerySet[Job], *, missing: str) -> Response:
    """The answer to a read of the first of those jobs: 200, or 304 where the caller has that state.

    Args:
        request: may have ``If-None-Match`` and ``wait``.
        found: the jobs that may be meant, in their order, with their biz types.
        missing: what is said where there is none.

    Raises Http404, and Refused where the wait is refused.
    """
    seconds = seconds_to_wait(request)
    job = _first(found)
    if job is None:
        raise Http404(missing)
    if seconds and job.status in LIVE and _is_old(request, job):
        _wait_for_change(request, job, seconds=seconds)
        job = _first(Job.objects.using(found.db).select_related("biz_type").filter(id=job.id))
        if job is None:
            raise Http404(missing)
    return answer(request, job_json(job), etag=job_etag(job))


def _first(found: QuerySet[Job]) -> Job | None:
    # Not ``first()``, which sorts rows that have no order, and only what is shown: Django takes half as long.
    return next(iter(found.only(*_SHOWN)[:1]), None)


def shown(job: Job, *, status: int = 200) -> Response:
    """The answer to a change: the job as it is now."""
    return Response(job_json(job), status=status, headers={"ETag": job_etag(job)})


def _is_old(request: Request, job: Job) -> bool:
    """Whether the caller has the job's state, or does not say what it has."""
    return "HTTP_IF_NONE_MATCH" not in request.META or is_known(request, job_etag(job))


def _wait_for_change(request: Request, job: Job, *, seconds: float) -> None:
    # By the primary key and without the body: a look costs the database some 50 µs.
    row = Job.objects.using(job._state.db).filter(id=job.id)
    before = job_etag(job)

    def look() -> str | None:
        values = row.values_list("version", "status", "updated_at", "biz_type__code").first()
        return None if values is None else etag_of(*values[:3], biz_type=values[3])

    wait_until(look, is_over=lambda etag: etag != before, seconds=seconds, request=request)


def attempt_json(attempt: Attempt) -> dict[str, Any]:
    """An attempt, as :class:`AttemptSerializer` describes it."""
    return json_of(answers.Attempt, attempt, request_headers=attempt_headers(attempt))


AttemptSerializer = serializer_of(
    answers.Attempt,
    example=attempt_json(
        Attempt(
            number=1,
            started_at=datetime(2027, 1, 31, 8, 30, 0, 13_000, tzinfo=UTC),
            duration_ms=41,
            lateness_ms=13,
            request_line="POST https://shop.example/hooks HTTP/1.1",
            request_headers={"Content-Type": "application/json", "Authorization": "Bearer (hidden)"},
            status_code=503,
            response_headers={"content-type": "text/plain"},
            response_body="try again later",
            error="the receiver answered 503",
            worker="worker-1",
        )
    ),
)
