"""Leases of running rows: the process that works on them renews them, and where one ran out, its row goes back."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.db import connections, transaction
from django.db.models import F

from tasksapp.delivery.outcomes import Failure
from tasksapp.models import BizType, Job, Transition, error_class
from tasksapp.sql.expire_jobs import count_dead
from tasksapp.sql.tombstones import REASON, answered_ids

_RENEW = f"""
UPDATE delayhub_job j SET lease_until = held.until
FROM unnest(%s::uuid[], %s::bigint[], %s::timestamptz[]) AS held (id, token, until)
WHERE j.id = held.id AND j.status = '{Transition.CLAIM.target}' AND j.lease_token = held.token
RETURNING j.id
"""  # noqa: S608  our own constants


def renew_leases(held: Sequence[tuple[UUID, int, datetime]], *, using: str) -> set[UUID]:
    """Renews leases, given as (id, token, new end), and gives back the ids whose lease still held."""
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
            rows = Job.objects.using(using).filter(id__in=ids, status=Transition.CLAIM.target, lease_token=token)
            ours = list(rows.values_list("id", flat=True))
            Job.objects.using(using).filter(id__in=ours).update(lease_until=until)
            renewed.update(ours)
    return renewed


UNKNOWN = "its worker was lost: the outcome is unknown"
TOO_MANY = "system: its workers were lost too often"
LOST = "system: its worker was lost"
#: The same of a job whose puller did not end its claim in time.
PULLER_UNKNOWN = "the lease of its puller ended: the outcome is unknown"
PULLER_TOO_MANY = "system: the leases of its pullers ended too often"
PULLER_LOST = "system: the lease of its puller ended"

_DEAD, _RESOLVED = Transition.LOSE_FOR_GOOD.target, Transition.RESOLVE_RETRY.target


def return_lost_leases(
    *,
    now: datetime,
    limit: int,
    max_system_errors: int,
    using: str,
    on_end: Callable[[Sequence[Job]], None] = lambda ended: None,
) -> list[Job]:
    """Up to ``limit`` jobs whose workers were lost, as they are now: pending again, dead, or resolved.

    No attempt is used. A job that may be sent at most once is dead, since it may have been sent; one that would be
    dead and has an answer is resolved. ``on_end`` gets those that have ended, in the same transaction.
    """
    with transaction.atomic(using=using):
        jobs = Job.objects.using(using)
        lost = list(
            jobs.filter(status=Transition.LOSE.source, lease_until__lt=now)
            .select_related("biz_type__tenant")
            .defer("body", "raw")
            .order_by("lease_until", "id")
            .select_for_update(skip_locked=True, no_key=True, of=("self",))[:limit]
        )
        groups: dict[tuple[tuple[str, Any], ...], list[Job]] = {}
        for job in lost:
            values = _returned(job, now=now, max_system_errors=max_system_errors)
            if values["status"] == _DEAD and job.biz_type.on_resolved and answered_ids([job], using=using):
                values = {**values, "status": _RESOLVED, "last_error": REASON, "error_class": error_class.RESOLVED}
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
        if dead := [job.id for job in lost if job.operation_id is not None and job.status == _DEAD]:
            count_dead(dead, using=using)
        on_end([job for job in lost if job.status != Transition.LOSE.target])
    return lost


def _returned(job: Job, *, now: datetime, max_system_errors: int) -> dict[str, Any]:
    pulled = job.biz_type.is_pulled
    if job.biz_type.guarantee == BizType.Guarantee.AT_MOST_ONCE:
        return _dead(PULLER_UNKNOWN if pulled else UNKNOWN, Failure.OUTCOME_UNKNOWN, now=now)
    if job.system_errors + 1 >= max_system_errors:
        return _dead(PULLER_TOO_MANY if pulled else TOO_MANY, error_class.LOST, now=now)
    # At once the first time, then after 2, 4, 8 … seconds: it may be the job that kills its workers.
    wait = timedelta(seconds=min(2 ** min(job.system_errors, 9), 300) if job.system_errors else 0)
    values = {"last_error": PULLER_LOST if pulled else LOST, "error_class": error_class.LOST, "next_run_at": now + wait}
    return {"status": Transition.LOSE.target, **values}


def _dead(reason: str, kind: str, *, now: datetime) -> dict[str, Any]:
    values = {"last_error": reason, "error_class": kind, "finished_at": now}
    return {"status": Transition.LOSE_FOR_GOOD.target, **values}
