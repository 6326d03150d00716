"""Deletes what was kept long enough, a batch at a time: jobs with attempts, idempotency keys, the audit."""

from __future__ import annotations

from datetime import datetime
from typing import Any, NamedTuple

from django.db import connections, transaction
from django.db.models import QuerySet

from tasksapp.models import AnswerLink, Attempt, AuditEntry, IdempotencyKey, Job, MissingFollowUp, Transition

#: Rows that one transaction takes.
BATCH_ROWS = 500


class Purged(NamedTuple):
    """How many rows were deleted, or would be."""

    jobs: int = 0
    attempts: int = 0
    keys: int = 0
    entries: int = 0
    tombstones: int = 0

    def __add__(self, other: object) -> Purged:
        if not isinstance(other, Purged):
            return NotImplemented
        return Purged(*(mine + others for mine, others in zip(self, other, strict=True)))


#: The rows are found along the index (biz type, finished at), and locked in the order of their ids, as all verbs lock
#: them. That is nearly the order of their pages too, so each page is written by one batch. A row that is being redriven
#: is skipped. What is locked is deleted where it stands: another look into the index would be a fifth of the cost.
_PURGE = """
WITH old AS (
    SELECT id FROM delayhub_job
    WHERE biz_type_id = %(biz_type_id)s AND finished_at IS NOT NULL AND finished_at < %(before)s{but}
    ORDER BY finished_at LIMIT %(limit)s
), locked AS (
    SELECT id, ctid FROM delayhub_job WHERE id = ANY(ARRAY(SELECT id FROM old)) AND finished_at < %(before)s{but}
    ORDER BY id FOR UPDATE SKIP LOCKED
), attempts AS (
    DELETE FROM delayhub_attempt WHERE job_id IN (SELECT id FROM locked) RETURNING 1
), links AS (
    DELETE FROM delayhub_answer_link WHERE job_id IN (SELECT id FROM locked)
), missing AS (
    DELETE FROM delayhub_missing_follow_up WHERE job_id IN (SELECT id FROM locked)
), jobs AS (
    DELETE FROM delayhub_job WHERE ctid = ANY(ARRAY(SELECT ctid FROM locked)) RETURNING 1
)
SELECT (SELECT count(*) FROM jobs), (SELECT count(*) FROM attempts)
"""


_DEAD = Transition.GIVE_UP.target
#: A dead job that blocks its flow key stays until a person decides about it, or order would break in silence.
_NOT_BLOCKING = f" AND NOT (status = '{_DEAD}' AND place IS NOT NULL)"


def purge_jobs(
    biz_type_id: int, *, before: datetime, using: str, limit: int = BATCH_ROWS, keeps_dead: bool = False
) -> Purged:
    """Deletes up to ``limit`` jobs of the biz type that ended before then, with attempts and links, in one transaction.

    ``keeps_dead``: none that are dead and in the order of a flow key: they block it.
    """
    if connections[using].vendor == "postgresql":
        with connections[using].cursor() as cursor:
            statement = _PURGE.format(but=_NOT_BLOCKING if keeps_dead else "")
            cursor.execute(statement, {"biz_type_id": biz_type_id, "before": before, "limit": limit})
            jobs, attempts = cursor.fetchone()
            return Purged(jobs, attempts)
    with transaction.atomic(using=using):
        old = _old_jobs(biz_type_id, before=before, using=using, keeps_dead=keeps_dead)
        ids = list(old.order_by("finished_at").values_list("id", flat=True)[:limit])
        attempts, _ = Attempt.objects.using(using).filter(job_id__in=ids).delete()
        for model in (AnswerLink, MissingFollowUp):
            model._default_manager.using(using).filter(job_id__in=ids).delete()
        jobs, _ = Job.objects.using(using).filter(id__in=ids).delete()
    return Purged(jobs, attempts)


def purge_left(model: type[AnswerLink | MissingFollowUp], *, after: int, using: str, limit: int) -> int:
    """Deletes those of the next rows whose jobs are gone: workers of before delete a job without them.

    So few are looked at that it costs nothing where there are many.

    Args:
        model: whose rows.
        after: the row that the last look ended with; 0 to begin.
        using: the database.
        limit: rows that are looked at.

    Gives back the row that this look ended with, 0 where there are no more.
    """
    rows = model._default_manager.using(using)
    found = dict(rows.filter(pk__gt=after).order_by("pk").values_list("pk", "job_id")[:limit])
    known = set(Job.objects.using(using).filter(id__in=set(found.values())).values_list("id", flat=True))
    if left := [pk for pk, job_id in found.items() if job_id not in known]:
        rows.filter(pk__in=left).delete()
    return max(found) if len(found) == limit else 0


def count_old_jobs(biz_type_id: int, *, before: datetime, using: str, keeps_dead: bool = False) -> Purged:
    """How many jobs and attempts would be deleted."""
    old = _old_jobs(biz_type_id, before=before, using=using, keeps_dead=keeps_dead)
    return Purged(old.count(), Attempt.objects.using(using).filter(job__in=old).count())


def _old_jobs(biz_type_id: int, *, before: datetime, using: str, keeps_dead: bool) -> QuerySet[Job]:
    old = Job.objects.using(using).filter(biz_type_id=biz_type_id, finished_at__lt=before)
    return old.exclude(status=_DEAD, place__isnull=False) if keeps_dead else old


def old_keys(*, before: datetime, using: str) -> QuerySet[IdempotencyKey]:
    """The idempotency keys that expired before then, the oldest first."""
    return IdempotencyKey.objects.using(using).filter(expires_at__lt=before).order_by("expires_at", "id")


def old_entries(*, before: datetime, using: str) -> QuerySet[AuditEntry]:
    """The entries of the audit from before then, the oldest first."""
    return AuditEntry.objects.using(using).filter(at__lt=before).order_by("at")


def purge(rows: QuerySet[Any], *, limit: int = BATCH_ROWS) -> int:
    """Deletes up to ``limit`` of the rows, and gives back how many; those that others have locked stay."""
    with transaction.atomic(using=rows.db):
        ids = list(rows.select_for_update(skip_locked=True).values_list("pk", flat=True)[:limit])
        gone: int = rows.model._default_manager.using(rows.db).filter(pk__in=ids).delete()[0]
    return gone
