"""What is refused where a business key is resolved: new jobs, and making a job live again."""

from __future__ import annotations

from datetime import datetime

from tasksapp.errors import KeyResolved
from tasksapp.jobs.requests import Accepted, Rejected
from tasksapp.models import Job
from tasksapp.sql.tombstones import lift_tombstones, living, resolved_ids


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
