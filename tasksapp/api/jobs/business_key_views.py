"""The views of jobs by their business key: the biz type's code and the biz id, which may hold any characters."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.contrib.auth.decorators import login_not_required
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.urls import URLPattern, re_path
from django.views.decorators.csrf import csrf_exempt
from rest_framework.request import Request
from rest_framework.response import Response

from tasksapp import jobs
from tasksapp.api.http.authentication import actor_of
from tasksapp.api.http.endpoint import endpoint
from tasksapp.api.http.served import outside
from tasksapp.api.http.view import ApiViewSet
from tasksapp.api.jobs.changing import (
    change,
    changeable,
    changes,
    changing,
    redrive_fields,
)
from tasksapp.api.jobs.reading import READ_PARAMETERS, READ_RESPONSES, read_job, shown
from tasksapp.api.jobs.representation import JobSerializer
from tasksapp.api.jobs.requests import ChangeJobRequestSerializer, RedriveJobRequestSerializer
from tasksapp.biz_types.visible import biz_type_of, visible_jobs
from tasksapp.errors import InvalidJob, JobNotFound, SeveralJobs
from tasksapp.jobs.business_key import last_kept
from tasksapp.jobs.requests import RULES
from tasksapp.models import LIVE, Job, Status
from tasksapp.models.api_key import Scope

#: Verbs stand behind the biz id, and are POSTs; nothing else is. So a biz id may end as the name of a verb does.
VERBS = ("cancel", "run", "redrive", "drop")
_KEY = r"^v1/biz-types/(?P<code>[a-z0-9][a-z0-9._-]{0,99})/jobs/(?P<biz_id>[\s\S]{1,200})"
#: Ids that a refusal names.
NAMED_IDS = 100

DEAD = (Status.DEAD,)


class BusinessKeyViews(ApiViewSet):
    """Jobs by their business key."""

    queryset = Job.objects.select_related("biz_type")
    serializer_class = JobSerializer

    @endpoint("Read a job by business key", Scope.JOBS_READ, gives=READ_RESPONSES, parameters=READ_PARAMETERS)
    def retrieve(self, request: Request, code: str, biz_id: str) -> Response:
        """The newest job with that business key. Write its biz id as one part of a URL: a slash as `%2F`."""
        found = _named(request, visible_jobs(request.user), code, biz_id)
        return read_job(request, found, missing=f"There is no job of {code} with the biz id {biz_id!r}.")

    @changes("Change a job by business key", Scope.JOBS_WRITE, takes=ChangeJobRequestSerializer)
    def partial_update(self, request: Request, code: str, biz_id: str, fields: dict[str, Any]) -> Response:
        """Changes the one live job with that business key."""
        return _apply(change, request, (code, biz_id), fields, to=LIVE)

    @changes("Cancel a job by business key", Scope.JOBS_WRITE)
    def cancel(self, request: Request, code: str, biz_id: str, fields: dict[str, Any]) -> Response:
        """Cancels the one live job with that business key."""
        return _apply(jobs.cancel, request, (code, biz_id), fields, to=LIVE)

    @changes("Run a job now by business key", Scope.JOBS_ACT)
    def run(self, request: Request, code: str, biz_id: str, fields: dict[str, Any]) -> Response:
        """Makes the one live job with that business key due at once."""
        return _apply(jobs.run_now, request, (code, biz_id), fields, to=LIVE)

    @changes("Redrive a job by business key", Scope.JOBS_ACT, takes=RedriveJobRequestSerializer)
    def redrive(self, request: Request, code: str, biz_id: str, fields: dict[str, Any]) -> Response:
        """Tries the one dead job with that business key again, with a new budget of attempts."""
        return _apply(jobs.redrive, request, (code, biz_id), redrive_fields(fields), to=DEAD)

    @changes("Drop a job by business key", Scope.JOBS_ACT)
    def drop(self, request: Request, code: str, biz_id: str, fields: dict[str, Any]) -> Response:
        """Drops the one dead job with that business key for good."""
        return _apply(jobs.drop, request, (code, biz_id), fields, to=DEAD)


def _apply(
    verb: Callable[..., Job], request: Request, key: tuple[str, str], fields: dict[str, Any], *, to: tuple[Status, ...]
) -> Response:
    """The answer of a verb for the one job of that business key that stands so."""
    rows = changeable(request)
    job = _one(_named(request, rows, *key), *key, to)
    with changing(request, rows, job_id=job.id, version=fields.get("version")):
        return shown(verb(job.id, **fields, by=actor_of(request)))


def _named(request: Request, rows: QuerySet[Job], code: str, biz_id: str) -> QuerySet[Job]:
    """Those of the rows with that business key, the newest first; none where no job can have it."""
    try:
        RULES["biz_id"](biz_id)
        biz_type = biz_type_of(request.user, code)
    except InvalidJob:
        return rows.none()  # PostgreSQL would raise an error where the biz id holds NUL
    return rows.filter(biz_type_id=biz_type.pk, biz_id=biz_id).order_by("-id")


def _one(rows: QuerySet[Job], code: str, biz_id: str, statuses: tuple[Status, ...]) -> Job:
    """The one job that stands so. Raises JobNotFound where there is none, SeveralJobs where there are more."""
    found = list(rows.filter(status__in=statuses).defer("body", "raw")[:NAMED_IDS])
    if not found:
        stand = " or ".join(statuses)
        raise JobNotFound(f"no job of {code} with the biz id {biz_id!r} is {stand}")
    found = last_kept(found)
    if len(found) > 1:
        raise SeveralJobs(code, biz_id, [job.id for job in found])
    return found[0]


_job = BusinessKeyViews.as_view({"get": "retrieve", "patch": "partial_update"})
_verbs = {verb: BusinessKeyViews.as_view({"post": verb}) for verb in VERBS}


@outside
@csrf_exempt
@login_not_required  # the view set knows its callers
def _by_key(request: HttpRequest, code: str, biz_id: str) -> HttpResponse:
    """The job of that business key, or a verb for it. A GET of ``…/42/cancel`` reads the job ``42/cancel``."""
    key, _, verb = biz_id.rpartition("/")
    if request.method in {"POST", "OPTIONS"} and verb in _verbs and key:
        verb_answer: HttpResponse = _verbs[verb](request, code=code, biz_id=key)
        return verb_answer
    answer: HttpResponse = _job(request, code=code, biz_id=biz_id)
    return answer


#: What OpenAPI describes: the address of a job, and one for each verb.
key_operations: list[URLPattern] = [
    re_path(f"{_KEY}$", _job, name="biz-type-job"),
    *(re_path(f"{_KEY}/{verb}$", view, name=f"biz-type-job-{verb}") for verb, view in _verbs.items()),
]
#: What answers at all of them. A biz id may hold slashes, also at its ends, and more of them than are left behind it.
key_address = re_path(_KEY.replace("{1,200}", "+") + "$", _by_key)
