"""Creating jobs over REST: from Django's request to Django's response, which costs less than REST framework's.

The view set of jobs calls the same functions, and describes them for OpenAPI.
"""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import Any

from django.http import HttpRequest, HttpResponse
from drf_spectacular.utils import OpenApiParameter

from delayhub.api_models.problems import FieldError
from tasksapp import jobs
from tasksapp.api.http.authentication import creator_of
from tasksapp.api.http.exception_handler import limit_headers, problem_of
from tasksapp.api.http.json_body import fields_of, number_of_jobs, read_object
from tasksapp.api.http.problems import Problem, Refused, only_known, refused
from tasksapp.api.jobs.representation import created_text, etag_of
from tasksapp.api.jobs.requests import job_request
from tasksapp.conf import options
from tasksapp.errors import InvalidJob, JobError
from tasksapp.models import Status

#: How long a request waits for the first one with its idempotency key: nearly all of those have finished by then. The
#: others are refused (409), so that repeated requests do not hold more and more threads.
KEY_WAIT_SECONDS = 1.0

#: How OpenAPI describes the key of a request.
IDEMPOTENCY_HEADER = OpenApiParameter(
    "Idempotency-Key",
    {"type": "string", "minLength": 1, "maxLength": 400},
    OpenApiParameter.HEADER,
    description='One string in quotes, such as `"close-42"`: the same request again makes no second job. The same as'
    " `idempotency_key`; in a bulk, each job without a key of its own has this one and its place.",
)

_FIRST_STATUS = Status.PENDING.value
_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


def create_job(request: HttpRequest) -> HttpResponse:
    """The answer with the new job (201), or with the earlier one that a key of the request stands for (200).

    Raises Refused where the request cannot be read, and what ``jobs.create`` raises.
    """
    asked = job_request(
        fields_of(request),
        key=idempotency_key(request.META),
        traceparent=request.META.get("HTTP_TRACEPARENT", ""),
    )
    (outcome,) = jobs.create_many(
        [asked], seen_by=request.user, by=creator_of(request), key_wait_seconds=KEY_WAIT_SECONDS
    )
    if isinstance(outcome, jobs.Rejected):
        raise outcome.error
    answer = _answer(created_text(outcome), status=201 if outcome.created else 200)
    answer["ETag"] = _etag(outcome, biz_type=asked.biz_type)
    if outcome.batch.limits:
        _show_limits(answer, outcome)
    # A job's address is below the one that it was posted to. reverse() would find the same in 20 µs, 5 % of a create.
    answer["Location"] = f"{request.path}/{outcome.job_id}"
    return answer


def create_jobs(request: HttpRequest) -> HttpResponse:
    """Return what became of each job: 201 if all were created, 207 if some were refused.

    Raises Refused if the request cannot be read, if it does not hold 1 to ``MAX_BULK`` jobs, or if the jobs are to be
    created together and one is refused.
    """
    fields = read_object(request, max_bytes=options().bulk_bytes)
    only_known(fields, {"jobs", "together"})
    listed, together = fields.get("jobs"), fields.get("together", False)
    if not isinstance(together, bool):
        raise refused("together", "invalid", f"together must be true or false, got {together!r:.80}")
    if not isinstance(listed, list) or not listed:  # more than there may be were refused where they were read
        raise number_of_jobs()
    traceparent = request.META.get("HTTP_TRACEPARENT", "")
    key = idempotency_key(request.META)
    results: list[dict[str, Any]] = [{} for _ in listed]
    asked: list[tuple[int, jobs.JobRequest]] = []
    for number, job in enumerate(listed):
        try:
            own = None if key is None else _key_of(job, number, key)
            asked.append((number, job_request(job, key=own, traceparent=traceparent)))
        except Refused as error:
            if together:
                raise _none_created(error, number) from None
            results[number] = {"error": error.problem.as_result()}
    try:
        outcomes = jobs.create_many(
            [job for _, job in asked], together=together, seen_by=request.user, by=creator_of(request)
        )
    except JobError as error:
        if error.place is None:
            raise
        raise _none_created(error, error.place) from error
    for (number, _), outcome in zip(asked, outcomes, strict=True):
        results[number] = _bulk_result(outcome)
    refusals = sum(["error" in result for result in results])
    answer = {"created": len(results) - refusals, "refused": refusals, "results": results}
    response = _answer(_encode(answer), status=207 if refusals else 201)
    made = next((outcome for outcome in outcomes if isinstance(outcome, jobs.Created)), None)
    if made is not None and made.batch.limits:
        _show_limits(response, made)
    return response


def _none_created(error: Refused | JobError, number: int) -> Refused:
    """Return the refusal of jobs that are created together, with the problem of the one at this place."""
    problem = _problem_of(error)
    return Refused(replace(problem, detail=f"No job was created, because of jobs[{number}]: {problem.detail}"))


def _key_of(job: Any, number: int, key: str) -> str | None:
    """The idempotency key of a job in a bulk that has that one; None where the job has its own."""
    has_own = isinstance(job, dict) and job.get("idempotency_key") is not None
    return None if has_own else f"{key}:{number}"


def _show_limits(answer: HttpResponse, created: jobs.Created) -> None:
    for name, value in limit_headers(created.batch.limits).items():
        answer[name] = value


def _etag(created: jobs.Created, *, biz_type: str) -> str:
    if created.row is None:
        job = created.job
        return etag_of(job.version, job.status, job.updated_at, biz_type=biz_type)
    return etag_of(1, _FIRST_STATUS, created.batch.now, biz_type=biz_type)


def _answer(text: str, *, status: int) -> HttpResponse:
    return HttpResponse(text.encode(), status=status, content_type="application/json")


def _bulk_result(outcome: jobs.Created | jobs.Rejected) -> dict[str, Any]:
    if isinstance(outcome, jobs.Created):
        return {
            "id": str(outcome.job_id),
            "created": outcome.created,
            "replaced": outcome.replaced,
            "past_due": outcome.was_past,
        }
    return {"error": _problem_of(outcome.error).as_result()}


def _problem_of(error: Refused | JobError) -> Problem:
    problem = problem_of(error) or problem_of(InvalidJob(None, "invalid", str(error)))
    assert problem is not None
    return problem


HEADER = "Idempotency-Key"
MOST_CHARACTERS = 200

#: A string of structured fields (RFC 9651): printable ASCII in quotes, in which a backslash stands before quotes and
#: backslashes. Many clients leave the quotes out; a word without blanks, commas and semicolons cannot be mistaken.
_STRING = re.compile(r'"((?:[ !#-\[\]-~]|\\["\\])*)"')
_WORD = re.compile(r"[!#-+\--:<-\[\]-~]+")
_ESCAPED = re.compile(r"\\(.)")


def idempotency_key(meta: dict[str, Any]) -> str | None:
    """The key in a request's headers; None where it has none. Raises Refused (400) where it cannot be read."""
    raw = meta.get("HTTP_IDEMPOTENCY_KEY")
    if raw is None:
        return None
    key = _read(raw.strip())
    if not 0 < len(key) <= MOST_CHARACTERS:
        detail = (
            f'Idempotency-Key must be one string in quotes, such as "order-42", of 1 to {MOST_CHARACTERS} characters.'
        )
        error = FieldError(HEADER, "malformed", detail)
        raise Refused.of("malformed_idempotency_key", detail, errors=[error])
    return key


def _read(text: str) -> str:
    if quoted := _STRING.fullmatch(text):
        return _ESCAPED.sub(r"\1", quoted[1])
    return text if _WORD.fullmatch(text) else ""
