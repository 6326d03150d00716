"""The other jobs of a job's biz id, in all biz types of its tenant: those of its plan are among them."""

from __future__ import annotations

from typing import NamedTuple

from django.db.models import QuerySet
from django.urls import reverse
from django.utils.safestring import SafeString

from tasksapp.admin.frame.fragments import badge, local_time
from tasksapp.models import LIVE, BizType, Job, Tombstone
from tasksapp.stats.counts import bounded_count

#: Other jobs that a page names.
MOST_NAMED = 5


class Sibling(NamedTuple):
    """Another job of the same biz id; ``biz_type`` is '' where that is the same too."""

    url: str
    status: SafeString
    due: SafeString
    biz_type: str


class Siblings(NamedTuple):
    """The newest of the other jobs, and how many others there are."""

    newest: list[Sibling]
    others: int


def siblings_of(job: Job, *, site: str) -> Siblings:
    """The other jobs of the job's biz id."""
    if not job.biz_id:
        return Siblings([], 0)
    rows = same_key(job).exclude(id=job.id)
    columns = rows.select_related("biz_type__tenant").only(
        "id", "status", "due_at", "biz_type__code", "biz_type__tenant"
    )
    newest = list(columns.order_by("-id")[:MOST_NAMED])
    count = len(newest) if len(newest) < MOST_NAMED else bounded_count(rows)
    shown = [
        Sibling(
            reverse("admin:tasksapp_job_change", args=[each.id], current_app=site),
            badge(each.get_status_display(), each.status),
            local_time(each.due_at),
            "" if each.biz_type_id == job.biz_type_id else each.biz_type.label,
        )
        for each in newest
    ]
    return Siblings(shown, count)


def same_key(job: Job) -> QuerySet[Job]:
    """All jobs of the job's biz id, in all biz types of its tenant."""
    # A list, not a sub-select: each number leads to a place of the index (biz type, biz id, id).
    numbers = list(BizType.objects.filter(tenant=job.biz_type.tenant).values_list("id", flat=True))
    return Job.objects.filter(biz_type_id__in=numbers, biz_id=job.biz_id)


def live_biz_types(job: Job) -> list[BizType]:
    """The job's biz type, and the others of its tenant that have live jobs of its biz id."""
    others = set(same_key(job).filter(status__in=LIVE).values_list("biz_type_id", flat=True)) - {job.biz_type_id}
    return [job.biz_type, *BizType.objects.select_related("tenant").filter(id__in=others).order_by("code")]


def tombstone_of(job: Job) -> Tombstone | None:
    """What says that the job's biz id is resolved; None where it is not."""
    if not job.biz_id or not job.biz_type.has_tombstones:
        return None
    return Tombstone.objects.filter(biz_type_id=job.biz_type_id, biz_id=job.biz_id, until__gt=job.created_at).first()
