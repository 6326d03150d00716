"""Leases of running rows: renewed by whoever works on them, returned by the loader where nobody does."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.db import connections, transaction
from django.db.models import F

from tasksapp.models import BizType, Job, Status

UNKNOWN = "its worker was lost: the outcome is unknown"
TOO_MANY = "system: its workers were lost too often"
LOST = "system: its worker was lost"

_RENEW = """
UPDATE delayhub_job j SET lease_until = held.until
FROM unnest(%s::uuid[], %s::bigint[], %s::timestamptz[]) AS held (id, token, until)
WHERE j.id = held.id AND j.status = 'running' AND j.lease_token = held.token
RETURNING j.id
"""


def renew_leases(held: Sequence[tuple[UUID, int, datetime]], *, using: str) -> set[UUID]:
    """Of (id, token, new end): the ids that are still ours, and stay so until then."""
    if not held:
        return set()
    if connections[using].vendor == "postgresql":
        with connections[using].cursor() as cursor:
            cursor.execute(_RENEW, [list(column) for column in zip(*held, strict=True)])
            return {row[0] for row in cursor.fetchall()}
    alike: dict[tuple[int, datetime], list[UUID]] = defaultdict(list)
    for job_id, token, until in held:
        alike[token, until].append(job_id)
    renewed: set[UUID] = set()
    with transaction.atomic(using=using):
        for (token, until), ids in alike.items():
            rows = Job.objects.using(using).filter(id__in=ids, status=Status.RUNNING, lease_token=token)
            ours = list(rows.values_list("id", flat=True))
            Job.objects.using(using).filter(id__in=ours).update(lease_until=until)
            renewed.update(ours)
    return renewed


def return_lost_leases(*, now: datetime, limit: int, max_system_errors: int, using: str) -> list[Job]:
    """Up to ``limit`` jobs whose workers were lost, as they are now: pending again, or dead.

    No attempt is used; one that may be made at most once is dead, since nobody knows what became of it.
    """
    with transaction.atomic(using=using):
        jobs = Job.objects.using(using)
        lost = list(
            jobs.filter(status=Status.RUNNING, lease_until__lt=now)
            .select_related("biz_type")
            .defer("body")
            .order_by("lease_until", "id")
            .select_for_update(skip_locked=True, no_key=True, of=("self",))[:limit]
        )
        groups: dict[tuple[tuple[str, Any], ...], list[Job]] = {}
        for job in lost:
            values = _returned(job, now=now, max_system_errors=max_system_errors)
            for name, value in values.items():
                setattr(job, name, value)
            groups.setdefault(tuple(values.items()), []).append(job)
        for changes, group in groups.items():
            jobs.filter(id__in=[job.id for job in group]).update(
                **dict(changes),
                system_errors=F("system_errors") + 1,
                version=F("version") + 1,
                lease_until=None,
                lease_token=None,
                updated_at=now,
            )
    return lost


def _returned(job: Job, *, now: datetime, max_system_errors: int) -> dict[str, Any]:
    if job.biz_type.guarantee == BizType.Guarantee.AT_MOST_ONCE:
        return {"status": Status.DEAD, "last_error": UNKNOWN, "finished_at": now}
    if job.system_errors + 1 >= max_system_errors:
        return {"status": Status.DEAD, "last_error": TOO_MANY, "finished_at": now}
    # At once the first time; then more and more slowly, for it may be the job that kills its workers.
    wait = timedelta(seconds=min(2**job.system_errors, 300) if job.system_errors else 0)
    return {"status": Status.PENDING, "last_error": LOST, "next_run_at": now + wait}
