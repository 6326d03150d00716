"""The business key: the biz type and biz id by which a caller knows a job."""

from __future__ import annotations

from django.db import router

from tasksapp.errors import JobNotFound, SeveralJobs
from tasksapp.models import LIVE, Job

#: Ids that a refusal names.
NAMED_IDS = 100


def find_live(biz_type: str, biz_id: str, *, using: str | None = None) -> Job:
    """The one job with that business key that may still fire.

    Raises JobNotFound where there is none, SeveralJobs where there are more.
    """
    jobs = Job.objects.using(using or router.db_for_read(Job)).select_related("biz_type")
    found = list(jobs.filter(biz_type__code=biz_type, biz_id=biz_id, status__in=LIVE).order_by("-id")[:NAMED_IDS])
    if not found:
        raise JobNotFound(f"no job of {biz_type} with the biz id {biz_id!r} is pending or running")
    if len(found) > 1:
        raise SeveralJobs(biz_type, biz_id, [job.id for job in found])
    return found[0]
