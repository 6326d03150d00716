"""Creating jobs over REST, by the shortest way: Django's request in, Django's response out.

The view set of jobs hands its requests to the same functions; OpenAPI is described there.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from typing import Any

from django.db import router
from django.http import HttpRequest, HttpResponse
from django.views.decorators.csrf import csrf_exempt

from tasksapp.api.http import transactions
from tasksapp.api.http.authentication import ApiKeyAuthentication
from tasksapp.api.http.exception_handler import problem_of
from tasksapp.api.http.json_body import fields_of
from tasksapp.api.http.problems import Refused, internal_error
from tasksapp.api.representation.job import created_json
from tasksapp.api.requests import MAX_BULK, job_request, only_known, refused
from tasksapp.errors import InvalidJob, JobError
from tasksapp.jobs import creation as scheduling
from tasksapp.models import Job
from tasksapp.sql.driver import health_check as quiet_connection

logger = logging.getLogger(__name__)

View = Callable[..., HttpResponse]


def create_job(request: HttpRequest) -> HttpResponse:
    """One new job (201), or the earlier one that the idempotency key or the debounce key stands for (200)."""
    asked = job_request(
        fields_of(request),
        key=request.META.get("HTTP_IDEMPOTENCY_KEY"),
        traceparent=request.META.get("HTTP_TRACEPARENT", ""),
    )
    (outcome,) = scheduling.create_many([asked])
    if isinstance(outcome, scheduling.Rejected):
        raise outcome.error
    answer = _answer(created_json(outcome, biz_type=asked.biz_type), status=201 if outcome.created else 200)
    answer["Location"] = f"/api/v1/jobs/{outcome.job_id}"
    return answer


def create_jobs(request: HttpRequest) -> HttpResponse:
    """Up to ``MAX_BULK`` jobs together; each good one is created whatever becomes of the others."""
    fields = fields_of(request, jobs=MAX_BULK)
    only_known(fields, {"jobs"})
    jobs = fields.get("jobs")
    if not isinstance(jobs, list) or not 1 <= len(jobs) <= MAX_BULK:
        raise refused("jobs", "invalid", f"jobs must be a list of 1 to {MAX_BULK} jobs")
    traceparent = request.META.get("HTTP_TRACEPARENT", "")
    results: list[dict[str, Any]] = [{} for _ in jobs]
    asked: list[tuple[int, scheduling.JobRequest]] = []
    for number, job in enumerate(jobs):
        try:
            asked.append((number, job_request(job, traceparent=traceparent)))
        except Refused as error:
            results[number] = {"error": error.problem.as_json()}
    outcomes = scheduling.create_many([job for _, job in asked])
    for (number, _), outcome in zip(asked, outcomes, strict=True):
        results[number] = _bulk_result(outcome)
    refusals = sum("error" in result for result in results)
    answer = {"created": len(results) - refusals, "refused": refusals, "results": results}
    return _answer(answer, status=207 if refusals else 201)


def short_way(create: View, view: Any) -> View:
    """A view that POSTs pass by ``create`` alone; all other methods go to the view set's ``view``.

    A project that throttles all its views with REST framework gets its way: POSTs then go to the view set too.
    """

    @transactions.outside
    @csrf_exempt
    def dispatch(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        if request.method != "POST" or view.cls.throttle_classes:
            answer: HttpResponse = view(request, *args, **kwargs)
            return answer
        return _answered(create, request)

    view_outside: View = dispatch
    return view_outside


def _answered(create: View, request: HttpRequest) -> HttpResponse:
    """The answer, or the problem document of what went wrong."""
    using = router.db_for_write(Job)
    try:
        quiet_connection.trust(using)
        ApiKeyAuthentication().authenticate(request)
        answer = create(request)
        quiet_connection.answered(using)
    except Exception as error:
        problem = problem_of(error)
        if problem is None:
            logger.exception("%s failed", request.path)
            problem = internal_error()
        return problem.response()
    return answer


def _answer(value: Any, *, status: int) -> HttpResponse:
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return HttpResponse(text.encode(), status=status, content_type="application/json")


def _bulk_result(outcome: scheduling.Created | scheduling.Rejected) -> dict[str, Any]:
    if isinstance(outcome, scheduling.Created):
        return {
            "id": str(outcome.job_id),
            "created": outcome.created,
            "replaced": outcome.replaced,
            "past_due": outcome.was_past,
        }
    error: JobError = outcome.error
    problem = problem_of(error) or problem_of(InvalidJob(None, "invalid", str(error)))
    assert problem is not None
    return {"error": problem.as_json()}
