"""Jobs that end without an outcome of their own: too old, too late or resolved; and the operations that count them.

Where the end of a job makes another job, it takes a transaction around both.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from django.db.models import F

from tasksapp.models import Job, Operation, Transition
from tasksapp.sql.claim_jobs import decision_of, new_values
from tasksapp.sql.decision import Decision
from tasksapp.sql.tombstones import resolved_ids


def expire_jobs(ids: Sequence[UUID], *, now: datetime, worker: str, using: str) -> list[Job]:
    """Those of the jobs that have ended now, in the caller's transaction; rows that others have locked are left.

    An answer that was given since the claim looked for one comes before the end: the job is resolved.

    Args:
        ids: jobs that a claim left for this.
        now: the claim's time.
        worker: who claims.
        using: the database.
    """
    jobs = Job.objects.using(using)
    pending = jobs.filter(id__in=ids, status=Transition.EXPIRE.source, next_run_at__lte=now)
    found = list(pending.select_related("biz_type").order_by("id").select_for_update(
        skip_locked=True, no_key=True, of=("self",)
    ))  # fmt: skip
    resolved = resolved_ids([job for job in found if job.biz_type.has_tombstones], using=using)
    ended: list[Job] = []
    for job in found:
        decision = Decision.RESOLVED if job.id in resolved else decision_of(job, now=now, forwarding=False)
        if not decision.is_death and decision is not Decision.RESOLVED:
            continue
        values = new_values(decision, now=now, seconds=0, token=0)
        changes = {**values, "worker": worker, "updated_at": now, "debounce_key": ""}
        jobs.filter(id=job.id).update(**changes, version=F("version") + 1)
        for name, value in changes.items():
            setattr(job, name, value)
        ended.append(job)
    return ended


_DEAD = Transition.EXPIRE.target


def count_dead(ids: Sequence[UUID], *, using: str) -> None:
    """Adds those of the jobs that are dead to their operations: the claim or the loader ended them, not a worker."""
    dead = Job.objects.using(using).filter(id__in=ids, status=_DEAD, operation_id__isnull=False)
    counts = Counter(owner for owner in dead.values_list("operation_id", flat=True) if owner is not None)
    for operation_id, count in sorted(counts.items()):
        Operation.objects.using(using).filter(pk=operation_id).update(dead=F(_DEAD.value) + count)
