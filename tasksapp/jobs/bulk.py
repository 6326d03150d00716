"""Verbs for many jobs: in batches, each a transaction of its own, locked in one order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from uuid import UUID

from django.db import router, transaction
from django.utils import timezone

from tasksapp.jobs.verbs import Verb, follow_on_commit, new_time
from tasksapp.models import BizType, Job

#: Rows that one transaction locks.
BATCH_ROWS = 500


@dataclass(frozen=True, slots=True)
class BulkOutcome:
    """How many jobs a verb changed, and how many it left since their status did not allow it.

    ``biz_types``: how many it changed of each biz type.
    """

    changed: int
    left: int
    biz_types: Mapping[BizType, int] = field(default_factory=dict, compare=False)


def apply_many(
    verb: Verb,
    ids: Sequence[UUID],
    *,
    due_at: datetime | str | None = None,
    delay: timedelta | float | None = None,
    using: str | None = None,
) -> BulkOutcome:
    """What the verb did to those of the jobs whose status allows it.

    Args:
        verb: what is done.
        ids: to which jobs; one that is named twice counts once.
        due_at: the new time, of jobs that are rescheduled; or
        delay: how long from now.
        using: the database.

    Raises InvalidJob where the new time cannot be.
    """
    using = using or router.db_for_write(Job)
    now = timezone.now()
    values = verb.values(now=now, due=new_time(verb, due_at=due_at, delay=delay, now=now))
    # One order everywhere, or two bulk verbs deadlock.
    ordered = sorted(set(ids))
    changed: Counter[BizType] = Counter()
    for start in range(0, len(ordered), BATCH_ROWS):
        with transaction.atomic(using=using):
            jobs = Job.objects.using(using)
            batch = jobs.filter(id__in=ordered[start : start + BATCH_ROWS], status=verb.source).order_by("id")
            locked = list(batch.select_for_update(no_key=True).values_list("id", flat=True))
            if not locked:
                continue
            rows = jobs.filter(id__in=locked)
            rows.update(**values)
            updated = list(rows.select_related("biz_type").defer("body"))
            follow_on_commit(updated, using=using)
        changed.update(job.biz_type for job in updated)
    return BulkOutcome(changed.total(), len(ordered) - changed.total(), changed)
