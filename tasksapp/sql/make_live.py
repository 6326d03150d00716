"""Makes finished jobs live again, and leaves those out whose biz id has a live job already."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from django.db import IntegrityError, transaction
from django.db.models import Exists, OuterRef, Q

from tasksapp.models import LIVE, Job


def make_live(ids: Sequence[UUID], values: dict[str, Any], *, using: str) -> list[UUID]:
    """Gives the jobs the values, and gives back the ids of those that took them.

    All at once, and one by one where that collides: one live job must not keep the others of a batch from theirs.
    """
    jobs = Job.objects.using(using)
    try:
        with transaction.atomic(using=using):
            jobs.filter(id__in=ids).update(**values)
    except IntegrityError:
        return [job_id for job_id in ids if _take(job_id, values, using=using)]
    return list(ids)


def no_other_is_live() -> Q:
    """What holds for jobs whose biz id has no live job, or whose biz type lets any number of them live."""
    live = Job.objects.filter(biz_type_id=OuterRef("biz_type_id"), live_key=OuterRef("live_key"), status__in=LIVE)
    return Q(live_key__isnull=True) | ~Q(Exists(live))


def _take(job_id: UUID, values: dict[str, Any], *, using: str) -> bool:
    try:
        with transaction.atomic(using=using):
            Job.objects.using(using).filter(id=job_id).update(**values)
    except IntegrityError:
        return False
    return True
