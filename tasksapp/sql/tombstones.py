"""Tombstones: which jobs they hold, and how they are laid, lifted and pruned."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, TypeVar
from uuid import UUID

from django.db import connections, transaction
from django.db.models import DateTimeField, Exists, F, OuterRef, Q, Value
from django.db.models.functions import Greatest

from tasksapp.models import BizType, Job, MissingFollowUp, Tombstone, Transition, error_class
from tasksapp.models.job import FOLLOW_UP
from tasksapp.models.job_keys import Keyed
from tasksapp.sql.read_values import read_uuid

K = TypeVar("K", bound=Keyed)

#: Why a job does not fire.
REASON = "resolved"
#: Whether a row ``t`` of tombstones holds a row ``j`` of jobs, as ``Tombstone.holds`` says it: one at most does.
HOLDS = f"""t.biz_type_id = j.biz_type_id AND t.biz_id = j.biz_id AND t.until > j.created_at
    AND (j.created_by <> '{FOLLOW_UP}' OR t.at > j.created_at)"""
#: Whether a row ``j`` of jobs has one. Without ``until`` in it the planner might read all tombstones for a hash.
HAS_TOMBSTONE = f"EXISTS (SELECT 1 FROM delayhub_tombstone t WHERE {HOLDS})"  # noqa: S608  our own words
#: The pending jobs that tombstones still hold when those are pruned.
_HELD = f"""
SELECT j.id FROM delayhub_tombstone t JOIN delayhub_job j ON {HOLDS}
WHERE t.id IN ({{ids}}) AND j.status = '{{status}}' ORDER BY j.id {{lock}}
"""  # noqa: S608  our own words


def called_off(*, now: datetime) -> dict[str, Any]:
    """The columns of a job that was pending when its business key was resolved; the version is one more."""
    return {
        "status": Transition.RESOLVE.target,
        "finished_at": now,
        "last_error": REASON,
        "error_class": error_class.RESOLVED,
        "lease_until": None,
        "updated_at": now,
    }


def lay_tombstones(untils: Mapping[int, datetime], *, biz_id: str, now: datetime, by: str, using: str) -> bool:
    """Lays a tombstone for the biz id in each biz type, or lets the one that is there last longer.

    It is part of the caller's transaction. The first one of a biz type marks that, by the same transaction: a claim
    sees both or none. Gives back whether this was the first one of a biz type.

    Args:
        untils: by biz type, until when it holds at least.
        biz_id: the biz id.
        now: when it is laid.
        by: who lays it.
        using: the database.
    """
    # In one order, so that two of them never wait for each other.
    ordered = sorted(untils)
    is_first = mark_first_tombstones(ordered, using=using)
    rows = [Tombstone(biz_type_id=number, biz_id=biz_id, at=now, until=untils[number], by=by) for number in ordered]
    table = Tombstone.objects.using(using)
    table.bulk_create(rows, ignore_conflicts=True)
    for row in rows:
        # Also where the other one holds for longer: a follow-up that was made past that is called off by this one.
        same = table.filter(Q(at__lt=now) | Q(until__lt=row.until), biz_type_id=row.biz_type_id, biz_id=biz_id)
        same.update(until=_later("until", row.until), at=_later("at", now), by=by)
    return is_first


def _later(column: str, moment: datetime) -> Greatest:
    return Greatest(column, Value(moment, DateTimeField()))


def mark_first_tombstones(biz_type_ids: Iterable[int], *, using: str) -> bool:
    """Lets claims look for tombstones of those biz types; whether they did not for one of them."""
    unmarked = BizType.objects.using(using).filter(id__in=biz_type_ids, has_tombstones=False)
    return unmarked.update(has_tombstones=True) > 0


def lift_tombstones(biz_type_ids: Iterable[int], *, biz_id: str, using: str) -> int:
    """Deletes the tombstones of the biz id in those biz types; gives back how many there were."""
    gone, _ = Tombstone.objects.using(using).filter(biz_type_id__in=biz_type_ids, biz_id=biz_id).delete()
    return gone


def resolved_ids(jobs: Iterable[Keyed], *, using: str) -> set[UUID]:
    """Those of the jobs that have a tombstone."""
    return {job.id for job, _ in held_jobs(jobs, using=using)}


def answered_ids(jobs: Iterable[Keyed], *, using: str) -> set[UUID]:
    """Those of the jobs that have a tombstone with an answer."""
    return {job.id for job, tombstone in held_jobs(jobs, using=using) if tombstone.outcome}


def held_jobs(jobs: Iterable[K], *, using: str) -> list[tuple[K, Tombstone]]:
    """Those of the jobs that have a tombstone, with it."""
    named = [job for job in jobs if job.biz_id]
    keys = {(job.biz_type_id, job.biz_id) for job in named}
    found = living(keys, using=using)
    return [
        (job, tombstone)
        for job in named
        if (tombstone := found.get((job.biz_type_id, job.biz_id))) and tombstone.holds(job)
    ]


def living(keys: Iterable[tuple[int, str]], *, using: str) -> dict[tuple[int, str], Tombstone]:
    """By business key, its tombstone without the answer; only those that have one."""
    by_biz_type: dict[int, set[str]] = {}
    for number, biz_id in keys:
        by_biz_type.setdefault(number, set()).add(biz_id)
    found: dict[tuple[int, str], Tombstone] = {}
    for number, biz_ids in by_biz_type.items():
        rows = Tombstone.objects.using(using).filter(biz_type_id=number, biz_id__in=biz_ids)
        found |= {(number, row.biz_id): row for row in rows.defer("answer")}
    return found


def not_resolved() -> Q:
    """What holds for jobs without a tombstone; for few jobs, or for biz types that have tombstones."""
    held = Tombstone.objects.filter(
        biz_type_id=OuterRef("biz_type_id"), biz_id=OuterRef("biz_id"), until__gt=OuterRef("created_at")
    )
    younger = held.filter(at__gt=OuterRef("created_at"))
    return ~Q(Exists(held)) | (Q(created_by=FOLLOW_UP) & ~Q(Exists(younger)))


def prune_tombstones(*, before: datetime, using: str, limit: int) -> int:
    """Deletes up to ``limit`` tombstones that held until before then, and gives back how many.

    Pending jobs that they held are cancelled first: one may be due long after the tombstone. A tombstone stays as long
    as a job of it runs, since that may become pending again; or waits, where the job has yet to take its answer; or
    lacks what was to follow from the answer.
    """
    jobs = Job.objects.using(using)
    with transaction.atomic(using=using):
        rows = Tombstone.objects.using(using)
        old = rows.filter(until__lt=before).order_by("until", "id").select_for_update(skip_locked=True)
        of_it = jobs.filter(
            biz_type_id=OuterRef("biz_type_id"), biz_id=OuterRef("biz_id"), created_at__lt=OuterRef("until")
        )
        running = Exists(of_it.filter(status=Transition.RESOLVE_RETRY.source))
        waiting = Exists(of_it.filter(status=Transition.RESOLVE.source))
        lacking = Exists(MissingFollowUp.objects.filter(job_id=OuterRef("answered_job")))
        stays = Q(running) | Q(waiting, outcome__gt="", answered_job=None) | Q(lacking, answered_job__isnull=False)
        ids = list(old.exclude(stays).values_list("id", flat=True)[:limit])
        if not ids:
            return 0
        held = _pending_held(ids, using=using)
        if held:
            jobs.filter(id__in=held).update(**called_off(now=before), version=F("version") + 1)
        gone, _ = rows.filter(id__in=ids).delete()
    return gone


def _pending_held(ids: Sequence[int], *, using: str) -> list[UUID]:
    connection = connections[using]
    lock = "FOR NO KEY UPDATE OF j" if connection.features.has_select_for_update else ""
    marks = ", ".join(["%s"] * len(ids))
    with connection.cursor() as cursor:
        cursor.execute(_HELD.format(ids=marks, status=Transition.RESOLVE.source.value, lock=lock), list(ids))
        return [read_uuid(one) for (one,) in cursor.fetchall()]
