"""What is refused where a business key is resolved: new jobs, and making a job live again."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from tasksapp.errors import KeyResolved
from tasksapp.jobs.requests import Accepted, Rejected
from tasksapp.models import IdempotencyKey, Job, Tombstone
from tasksapp.sql.answers import refuse_lifting_answers
from tasksapp.sql.tombstones import lift_tombstones, living, resolved_ids


def without_resolved(
    outcomes: list[Accepted | Rejected], *, now: datetime, using: str, together: bool = False
) -> list[Accepted | Rejected]:
    """The outcomes, those requests rejected whose business key is resolved.

    A request that passes may come too late all the same, where its transaction is committed after the resolve: the
    claim finds that out. Only biz types that have tombstones cost a query.

    One that asks what was answered before passes too, marked: its job is born resolved, and so are those of its
    business key that are made together with it. Where none is resolved, it is the same list.
    """
    keys = {
        (outcome.row.biz_type_id, outcome.row.biz_id)
        for outcome in outcomes
        if isinstance(outcome, Accepted) and outcome.biz_type.has_tombstones and outcome.row.biz_id
    }
    resolved = {key: one for key, one in living(keys, using=using).items() if one.until > now} if keys else {}
    if not resolved:
        return outcomes
    found: list[Accepted | Rejected] = []
    for outcome in outcomes:
        tombstone = resolved.get(_key(outcome)) if isinstance(outcome, Accepted) else None
        if tombstone is None or isinstance(outcome, Rejected):
            found.append(outcome)
        elif _is_answered(outcome, tombstone, using=using):
            found.append(outcome._replace(is_answered=True))
        else:
            found.append(Rejected(KeyResolved(outcome.biz_type.code, outcome.row.biz_id)))
    if not together:
        return found
    answered = {one.row.biz_id for one in found if isinstance(one, Accepted) and one.is_answered}
    return [
        asked._replace(is_answered=True)
        if isinstance(asked, Accepted) and asked.row.biz_id in answered and _key(asked) in resolved
        else one
        for asked, one in zip(outcomes, found, strict=True)
    ]


def refuse_resolved_key(job: Job, biz_id: str, *, using: str) -> None:
    """Refuses to give the job a biz id that is resolved. Raises KeyResolved."""
    key = job.biz_type_id, biz_id
    if biz_id and job.biz_type.has_tombstones:
        tombstone = living([key], using=using).get(key)
        if tombstone is not None and tombstone.holds(job):
            raise KeyResolved(job.biz_type.code, biz_id)


def refuse_resolved(job: Job, *, lift: bool, using: str) -> None:
    """Refuses to make the job live again where its business key is resolved, or lifts the tombstone.

    Raises KeyResolved, or AlreadyAnswered where what follows from an answer was made.
    """
    if not job.biz_type.has_tombstones or not job.biz_id:
        return
    if lift:
        lift_key([job.biz_type_id], biz_id=job.biz_id, using=using)
    elif resolved_ids([job], using=using):
        raise KeyResolved(job.biz_type.code, job.biz_id)


def lift_key(biz_type_ids: Sequence[int], *, biz_id: str, using: str) -> int:
    """Lifts the tombstones of a business key; gives back how many there were. Raises AlreadyAnswered."""
    refuse_lifting_answers(biz_type_ids, biz_id=biz_id, using=using)
    return lift_tombstones(biz_type_ids, biz_id=biz_id, using=using)


def _key(outcome: Accepted) -> tuple[int, str]:
    return outcome.row.biz_type_id, outcome.row.biz_id


def _is_answered(request: Accepted, tombstone: Tombstone, *, using: str) -> bool:
    """Whether the request asks what was answered before, or is the same one that did so once more.

    An answer that came too late for an earlier job of the key is no answer to this one.
    """
    if not (request.biz_type.on_resolved and tombstone.outcome):
        return False
    if tombstone.answered_job is None:
        return not Job.objects.using(using).filter(biz_type=request.biz_type, biz_id=request.row.biz_id).exists()
    if request.key is None:
        return False
    same = IdempotencyKey.objects.using(using).filter(biz_type=request.biz_type, key=request.key)
    return same.filter(job_id=tombstone.answered_job).exists()
