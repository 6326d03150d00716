"""The business key: the biz type and biz id by which a caller knows a job."""

from __future__ import annotations

from django.db import router
from django.db.models import QuerySet

from tasksapp.errors import InvalidJob, JobNotFound, SeveralJobs
from tasksapp.jobs.requests import RULES
from tasksapp.models import LIVE, Job

#: Ids that a refusal names.
NAMED_IDS = 100


def find_live(biz_type: str, biz_id: str, *, using: str | None = None) -> Job:
    """The one job with that business key that may still fire.

    Raises JobNotFound where there is none, SeveralJobs where there are more.
    """
    found = list(named(biz_type, biz_id, using=using).filter(status__in=LIVE)[:NAMED_IDS])
    if not found:
        raise JobNotFound(f"no job of {biz_type} with the biz id {biz_id!r} is pending or running")
    if len(found) > 1:
        raise SeveralJobs(biz_type, biz_id, [job.id for job in found])
    return found[0]


def named(biz_type: str, biz_id: str, *, using: str | None = None) -> QuerySet[Job]:
    """All jobs with that business key, the newest first; none where no job can have it."""
    jobs = Job.objects.using(using or router.db_for_read(Job)).select_related("biz_type").order_by("-id")
    try:
        RULES["biz_type"](biz_type)
        RULES["biz_id"](biz_id)
    except InvalidJob:
        return jobs.none()  # PostgreSQL would raise an error where one of them holds NUL
    return jobs.filter(biz_type__code=biz_type, biz_id=biz_id)
