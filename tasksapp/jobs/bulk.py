"""Verbs for many jobs: in batches, each a transaction of its own, locked in one order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.db import router, transaction
from django.utils import timezone

from tasksapp.access import audit
from tasksapp.access.actors import Actor
from tasksapp.jobs.flow_order import not_first
from tasksapp.jobs.verbs import Verb, follow_on_commit, named, new_time
from tasksapp.models import AuditEntry, BizType, Job
from tasksapp.models.conflicts import repeated
from tasksapp.sql.make_live import make_live
from tasksapp.sql.tombstones import not_resolved

#: Rows that one transaction locks.
BATCH_ROWS = 500


@dataclass(frozen=True, slots=True)
class BulkOutcome:
    """How many jobs a verb changed, and how many it left out.

    A job is left out where its status does not allow the verb, or where it is being moved to another site; a redrive
    also leaves those out whose business key is resolved, or of whose biz id one is live where the biz type keeps one.
    Of jobs in order, only the first runs now.

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
    by: Actor | None = None,
    reason: str = "",
    using: str | None = None,
) -> BulkOutcome:
    """What the verb did to those of the jobs whose status allows it.

    Args:
        verb: what is done.
        ids: to which jobs; one that is named twice counts once.
        due_at: the new time, of jobs that are rescheduled; or
        delay: how long from now.
        by: who does it, for the audit; None for the project's own code, which leaves no entries there.
        reason: why, for the audit.
        using: the database.

    Raises InvalidJob where the new time cannot be, and what the database raises: batches of 500 before that are done.
    """
    using = using or router.db_for_write(Job)
    now = timezone.now()
    values = verb.values(now=now, due=new_time(verb, due_at=due_at, delay=delay, now=now), by=by)
    kept = list(values) if audit.is_recorded(by) else []
    # One order everywhere, or two bulk verbs deadlock.
    ordered = sorted(set(ids))
    changed: Counter[BizType] = Counter()
    for start in range(0, len(ordered), BATCH_ROWS):
        batch = ordered[start : start + BATCH_ROWS]
        updated = _apply(verb, batch, values, kept=kept, now=now, by=by, reason=reason, using=using)
        changed.update(job.biz_type for job in updated)
    return BulkOutcome(changed.total(), len(ordered) - changed.total(), changed)


@repeated
def _apply(
    verb: Verb, ids: Sequence[UUID], values: dict[str, Any], *, kept: Sequence[str], now: datetime,
    by: Actor | None, reason: str, using: str,
) -> list[Job]:  # fmt: skip
    """The jobs of one batch that the verb changed, in a transaction of their own."""
    with transaction.atomic(using=using):
        jobs = Job.objects.using(using)
        batch = jobs.filter(id__in=ids, status=verb.source, biz_type__moved_to="").order_by("id")
        if verb is Verb.REDRIVE:
            batch = batch.filter(not_resolved())
        before = {row["id"]: row for row in batch.select_for_update(no_key=True, of=("self",)).values("id", *kept)}
        waiting = not_first(list(before), using=using) if verb is Verb.RUN_NOW else set()
        ids_changed = [job_id for job_id in before if job_id not in waiting]
        if not ids_changed:
            return []
        if verb is Verb.REDRIVE:
            ids_changed = make_live(ids_changed, values, using=using)
        else:
            jobs.filter(id__in=ids_changed).update(**values)
        rows = jobs.filter(id__in=ids_changed)
        updated = list(rows.select_related("biz_type__tenant").defer("body", "raw"))
        if by is not None and kept:
            entries = [_entry(verb, job, before[job.id], now=now, by=by, reason=reason) for job in updated]
            audit.record(entries, using=using)
        follow_on_commit(updated, verb=verb.word, by=by, using=using, look_again=verb is Verb.REDRIVE)
    return updated


def _entry(verb: Verb, job: Job, before: Mapping[str, Any], *, now: datetime, by: Actor, reason: str) -> AuditEntry:
    after = {name: getattr(job, name) for name in before}
    return audit.entry(
        verb.word, by=by, at=now, job_id=job.id, biz_type_id=job.biz_type_id, what=named(job), before=before,
        after=after, reason=reason,
    )  # fmt: skip
