"""The last request of an issue and what came back, so that a person sees why the jobs are dead."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple
from uuid import UUID

from django.db.models import OuterRef, Subquery
from django.http import HttpRequest
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from tasksapp.admin.frame.fragments import clock_time, duration
from tasksapp.admin.frame.masking import masked_body
from tasksapp.models import Attempt, Job

#: Characters of an answer that are shown.
ANSWER_LENGTH = 2_000


class Sample(NamedTuple):
    """What was sent, what came back, and the body of the answer, masked for those who may not see bodies."""

    request: str
    answer: str
    body: SafeString


def samples(job_ids: Iterable[UUID], *, request: HttpRequest) -> dict[str, Sample]:
    """By the id of the job, its last attempt; one query. Jobs that were never tried have none."""
    last = Attempt.objects.filter(job_id=OuterRef("pk")).order_by("-number").values("pk")[:1]
    jobs = Job.objects.filter(pk__in=list(job_ids)).order_by().annotate(last=Subquery(last))
    found = Attempt.objects.filter(pk__in=jobs.values("last")).order_by()
    return {str(attempt.job_id): _sample(attempt, request=request) for attempt in found}


def _sample(attempt: Attempt, *, request: HttpRequest) -> Sample:
    words = {
        "error": attempt.error or str(attempt.status_code or ""),
        "time": clock_time(attempt.started_at),
        "took": duration(ms=attempt.duration_ms),
    }
    return Sample(
        attempt.request_line,
        _("%(error)s, at %(time)s, after %(took)s") % words,
        masked_body(request, attempt.response_body[:ANSWER_LENGTH]) if attempt.response_body else SafeString(""),
    )
