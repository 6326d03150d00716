"""Jobs that are called off since their business key is resolved, and what follows where that was an answer."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from django.db import connections, transaction
from django.db.models import F, QuerySet
from django.utils import timezone

from tasksapp.access.actors import OWN_CODE, Actor
from tasksapp.jobs.follow_ups import EndedJob, make_follow_ups
from tasksapp.models import Job, Transition
from tasksapp.sql.answers import jobs_to_answer
from tasksapp.sql.tombstones import called_off, resolved_ids


def cancel_resolved(jobs: Sequence[Job], *, using: str) -> list[Job]:
    """Cancels those of the jobs whose business key was resolved while they were made live; gives those back.

    Such a resolve has looked for pending jobs before these were committed, and these have looked for its tombstone
    before that was. So it is called when they are committed; a claim would find the same when they are due.
    """
    resolved = resolved_ids(jobs, using=using)
    if not resolved:
        return []
    stored = {job.id: job for job in call_off(Job.objects.using(using).filter(id__in=resolved))}
    changed = ("version", *called_off_by("", now=timezone.now()))
    for job in jobs:
        if job.id in stored:
            for name in changed:
                setattr(job, name, getattr(stored[job.id], name))
    return list(stored.values())


def call_off(jobs: QuerySet[Job], *, by: Actor | None = None, limit: int | None = None) -> list[Job]:
    """Cancels those of the jobs that are pending, whose business key is resolved, and makes what follows from that.

    It waits for the transactions of others, claims above all: it may pass over no row. Gives back the cancelled ones,
    without their bodies; none where none were left.
    """
    now, using = timezone.now(), jobs.db
    pending = jobs.filter(status=Transition.RESOLVE.source)
    values = called_off_by((by or OWN_CODE).name, now=now)
    with transaction.atomic(using=using, savepoint=False):
        if not connections[using].features.has_select_for_update:
            # SQLite: a transaction that begins by reading is refused, without waiting, when it comes to write.
            pending.update(version=F("version"))
        found = list(
            pending.select_related("biz_type__tenant").defer("body", "raw").order_by("id")
            .select_for_update(no_key=True, of=("self",))[:limit]
        )  # fmt: skip
        if not found:
            return []
        Job.objects.using(using).filter(id__in=[job.id for job in found]).update(**values, version=F("version") + 1)
        for job in found:
            job.version += 1
            for name, value in values.items():
                setattr(job, name, value)
        if followed := [EndedJob.of(job) for job in found if job.biz_type.on_resolved]:
            make_follow_ups(followed, now=now, using=using)
    return found


def call_off_old(*, before: datetime, limit: int, using: str) -> int:
    """Lets pending jobs take the answers of tombstones that held until before then; gives back how many it called off.

    A job may be due long after its tombstone, which is pruned when it holds none that has yet to take the answer.
    """
    ids = jobs_to_answer(before=before, limit=limit, using=using)
    return len(call_off(Job.objects.using(using).filter(id__in=ids))) if ids else 0


def called_off_by(by: str, *, now: datetime) -> dict[str, Any]:
    """What ``tasksapp.sql.tombstones.called_off`` gives, and who did it."""
    return {**called_off(now=now), "changed_by": by, "operation_id": None}
