"""The business key: the biz type and biz id by which a caller knows a job."""

from __future__ import annotations

from django.db import router
from django.db.models import QuerySet

from tasksapp.biz_types.visible import reach_of
from tasksapp.errors import InvalidJob, JobNotFound, SeveralJobs
from tasksapp.jobs.requests import RULES
from tasksapp.models import LIVE, Job
from tasksapp.sql.keep_last import is_waiting

#: Ids that a refusal names.
NAMED_IDS = 100


def find_live(biz_type: str, biz_id: str, *, tenant: str | None = None, using: str | None = None) -> Job:
    """The one job with that business key that may still fire.

    Args:
        biz_type: the code of its biz type.
        biz_id: its biz id.
        tenant: the code of the tenant whose biz type it is; None for the default one.
        using: the database.

    Raises JobNotFound where there is none, SeveralJobs where there are more, UnknownTenant.
    """
    jobs = named(biz_type, biz_id, tenant=tenant, using=using)
    found = list(jobs.filter(status__in=LIVE)[:NAMED_IDS])
    if not found:
        raise JobNotFound(f"no job of {biz_type} with the biz id {biz_id!r} is pending or running")
    found = last_kept(found)
    if len(found) > 1:
        raise SeveralJobs(biz_type, biz_id, [job.id for job in found])
    return found[0]


def last_kept(found: list[Job]) -> list[Job]:
    """The live jobs of a business key; of two, of which one waits for the other, that one: verbs cannot stop the other.

    So callers meet one live job there too, where a biz type keeps the last beside the one that runs.
    """
    waiting = [job for job in found if is_waiting(job.live_key)]
    return waiting if len(found) == 2 and len(waiting) == 1 else found


def named(biz_type: str, biz_id: str, *, tenant: str | None = None, using: str | None = None) -> QuerySet[Job]:
    """All jobs with that business key, the newest first; none where no job can have it. For the arguments see above.

    Raises UnknownTenant.
    """
    using = using or router.db_for_read(Job)
    reach = reach_of(None, tenant=tenant, using=using)
    jobs = Job.objects.using(using).select_related("biz_type").order_by("-id")
    try:
        RULES["biz_type"](biz_type)
        RULES["biz_id"](biz_id)
    except InvalidJob:
        return jobs.none()  # PostgreSQL would raise an error where one of them holds NUL
    return jobs.filter(reach.condition("biz_type"), biz_type__code=biz_type, biz_id=biz_id)
