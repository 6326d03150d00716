"""Whether a biz type has jobs, in a time that does not grow with the jobs of others.

The first row of an order is found by the index of that order. Without an order, as by ``exists()``, PostgreSQL reads
the table from its beginning where statistics promise a row soon: all of it, where they are of before an import or a
purge and there is none.
"""

from __future__ import annotations

from tasksapp.models import Job, Status, Transition

#: The statuses whose jobs have an index by biz type, or are few; and the order of that index.
_ORDERS = {
    Transition.CLAIM.source: "next_run_at",
    Transition.SUCCEED.source: "lease_until",
    Transition.REDRIVE.source: "finished_at",
}
_UNFINISHED = (Transition.CLAIM.source, Transition.SUCCEED.source)


def has_jobs(biz_type_id: int, *, using: str) -> bool:
    """Whether the biz type has a job."""
    finished = Job.objects.using(using).filter(biz_type_id=biz_type_id, finished_at__isnull=False)
    if finished.order_by("finished_at").values_list("id", flat=True)[:1]:
        return True
    return any(has_jobs_in(status, biz_type_id, using=using) for status in _UNFINISHED)


def has_jobs_in(status: Status, biz_type_id: int, *, using: str) -> bool:
    """Whether the biz type has a job that is pending, running or dead."""
    rows = Job.objects.using(using).filter(biz_type_id=biz_type_id, status=status).order_by(_ORDERS[status])
    return bool(rows.values_list("id", flat=True)[:1])
