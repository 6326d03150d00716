"""What is refused where a business key is resolved: new jobs, and making a job live again. What becomes of its jobs."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from django.db.models import F
from django.utils import timezone

from tasksapp.access.actors import OWN_CODE
from tasksapp.errors import KeyResolved
from tasksapp.jobs.requests import Accepted, Rejected
from tasksapp.models import Job, Transition
from tasksapp.sql.tombstones import called_off, lift_tombstones, living, resolved_ids


def without_resolved(outcomes: list[Accepted | Rejected], *, now: datetime, using: str) -> list[Accepted | Rejected]:
    """The outcomes, those requests rejected whose business key is resolved.

    A request that passes may come too late all the same, where its transaction is committed after the resolve: the
    claim finds that out. Only biz types that have tombstones cost a query.
    """
    keys = {
        (outcome.row.biz_type_id, outcome.row.biz_id)
        for outcome in outcomes
        if isinstance(outcome, Accepted) and outcome.biz_type.has_tombstones and outcome.row.biz_id
    }
    resolved = {key for key, until in living(keys, using=using).items() if until > now} if keys else set()
    if not resolved:
        return outcomes
    return [
        Rejected(KeyResolved(outcome.biz_type.code, outcome.row.biz_id))
        if isinstance(outcome, Accepted) and (outcome.row.biz_type_id, outcome.row.biz_id) in resolved
        else outcome
        for outcome in outcomes
    ]


def refuse_resolved_key(job: Job, biz_id: str, *, using: str) -> None:
    """Refuses to give the job a biz id that is resolved. Raises KeyResolved."""
    key = job.biz_type_id, biz_id
    if biz_id and job.biz_type.has_tombstones:
        until = living([key], using=using).get(key)
        if until is not None and until > job.created_at:
            raise KeyResolved(job.biz_type.code, biz_id)


def refuse_resolved(job: Job, *, lift: bool, using: str) -> None:
    """Refuses to make the job live again where its business key is resolved, or lifts the tombstone.

    Raises KeyResolved.
    """
    if not job.biz_type.has_tombstones or not job.biz_id:
        return
    if lift:
        lift_tombstones([job.biz_type_id], biz_id=job.biz_id, using=using)
    elif resolved_ids([job], using=using):
        raise KeyResolved(job.biz_type.code, job.biz_id)


def cancel_resolved(jobs: Sequence[Job], *, using: str) -> None:
    """Cancels those of the jobs whose business key was resolved while they were made live again; they say so then.

    Such a resolve has looked for pending jobs before these were committed, and these have looked for its tombstone
    before that was. So it is called when they are committed; a claim would find the same when they are due.
    """
    resolved = resolved_ids(jobs, using=using)
    if not resolved:
        return
    rows = Job.objects.using(using).filter(id__in=resolved)
    values = called_off_by(OWN_CODE.name, now=timezone.now())
    rows.filter(status=Transition.RESOLVE.source).update(**values, version=F("version") + 1)
    stored = {job.id: job for job in rows.only("status", "version", *values)}
    for job in jobs:
        if job.id in stored:
            for name in ("version", *values):
                setattr(job, name, getattr(stored[job.id], name))


def called_off_by(by: str, *, now: datetime) -> dict[str, Any]:
    """What ``tasksapp.sql.tombstones.called_off`` gives, and who did it."""
    return {**called_off(now=now), "changed_by": by, "operation_id": None}
