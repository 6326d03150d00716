"""The one place where a job's status changes: the table of what may follow what, and a verb for each change.

Verbs are one UPDATE each, guarded by the status and, where the caller says it, by the version it saw. What moved is
told to Redis when the transaction commits.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from typing import Any, NamedTuple
from uuid import UUID

from django.db import router, transaction
from django.db.models import F, QuerySet
from django.utils import timezone

from tasksapp.errors import InvalidJob, JobNotFound, SeveralJobs, VersionConflict, WrongState
from tasksapp.jobs import validation as rules
from tasksapp.models import LIVE, Job, Status
from tasksapp.timers.arming import Timer, forget, move

#: Rows that one transaction of a bulk verb locks.
BULK_ROWS = 500


class Transition(NamedTuple):
    """One allowed change."""

    source: Status
    verb: str
    target: Status
    why: str


TRANSITIONS: tuple[Transition, ...] = (
    Transition(Status.PENDING, "claim", Status.RUNNING, "due, and a worker takes it"),
    Transition(Status.PENDING, "cancel", Status.CANCELLED, "somebody calls it off"),
    Transition(Status.PENDING, "reschedule", Status.PENDING, "somebody moves it"),
    Transition(Status.PENDING, "run now", Status.PENDING, "somebody cannot wait"),
    Transition(Status.PENDING, "skip", Status.SKIPPED, "too late, and its biz type says skip"),
    Transition(Status.PENDING, "give up", Status.DEAD, "too late, or its age is used up"),
    Transition(Status.RUNNING, "succeed", Status.SUCCEEDED, "the receiver took it"),
    Transition(Status.RUNNING, "retry", Status.PENDING, "the attempt failed; again after the backoff"),
    Transition(Status.RUNNING, "give up", Status.DEAD, "permanent failure, or attempts or age used up"),
    Transition(Status.RUNNING, "give back", Status.PENDING, "not sent after all: no attempt is used"),
    Transition(Status.RUNNING, "lose", Status.PENDING, "its worker's lease ran out: no attempt is used"),
    Transition(Status.RUNNING, "lose", Status.DEAD, "the same, where it may be tried once only, or too often"),
    Transition(Status.DEAD, "redrive", Status.PENDING, "somebody gives it a new budget of attempts"),
    Transition(Status.DEAD, "drop", Status.DROPPED, "somebody gives it up for good"),
)

_ALLOWED: Mapping[str, frozenset[Status]] = {
    verb: frozenset(change.source for change in TRANSITIONS if change.verb == verb)
    for verb in {change.verb for change in TRANSITIONS}
}


def allowed(verb: str) -> frozenset[Status]:
    """The statuses in which a job takes the verb."""
    return _ALLOWED[verb]


@dataclass(frozen=True, slots=True)
class BulkOutcome:
    """How many jobs a bulk verb changed, and how many it left since their status did not allow it."""

    changed: int
    left: int


def cancel(job_id: UUID, *, version: int | None = None, using: str | None = None) -> Job:
    """Calls a pending job off; from then on nothing is sent."""
    now = timezone.now()
    return _change(
        job_id, "cancel", {"status": Status.CANCELLED, "finished_at": now}, version=version, now=now, using=using
    )


def reschedule(
    job_id: UUID,
    *,
    due_at: datetime | str | None = None,
    delay: timedelta | float | None = None,
    version: int | None = None,
    using: str | None = None,
) -> Job:
    """Moves a pending job to another time."""
    now = timezone.now()
    due, wait = rules.due_at(due_at), rules.delay(delay)
    if due is None and wait is None:
        raise InvalidJob("due_at", "required", "give due_at or delay")
    moment = rules.moment_of(due=due, wait=wait, now=now)
    values = {"due_at": moment, "next_run_at": moment, "redriven_at": None, "lease_until": None}
    return _change(job_id, "reschedule", values, version=version, now=now, using=using)


def run_now(job_id: UUID, *, version: int | None = None, using: str | None = None) -> Job:
    """Makes a pending job due at once; a pause still holds it."""
    now = timezone.now()
    return _change(job_id, "run now", {"next_run_at": now, "lease_until": None}, version=version, now=now, using=using)


def redrive(job_id: UUID, *, version: int | None = None, using: str | None = None) -> Job:
    """Lets a dead job try again, at once and with a new budget of attempts and age."""
    now = timezone.now()
    return _change(job_id, "redrive", _redriven(now), version=version, now=now, using=using)


def drop(job_id: UUID, *, version: int | None = None, using: str | None = None) -> Job:
    """Gives a dead job up for good."""
    return _change(job_id, "drop", {"status": Status.DROPPED}, version=version, now=timezone.now(), using=using)


def cancel_many(ids: Sequence[UUID], *, using: str | None = None) -> BulkOutcome:
    """Calls the pending ones of the jobs off."""
    now = timezone.now()
    return _change_many(ids, "cancel", {"status": Status.CANCELLED, "finished_at": now}, now=now, using=using)


def reschedule_many(
    ids: Sequence[UUID],
    *,
    due_at: datetime | str | None = None,
    delay: timedelta | float | None = None,
    using: str | None = None,
) -> BulkOutcome:
    """Moves the pending ones of the jobs."""
    now = timezone.now()
    moment = rules.moment_of(due=rules.due_at(due_at), wait=rules.delay(delay), now=now)
    values = {"due_at": moment, "next_run_at": moment, "redriven_at": None, "lease_until": None}
    return _change_many(ids, "reschedule", values, now=now, using=using)


def run_now_many(ids: Sequence[UUID], *, using: str | None = None) -> BulkOutcome:
    """Makes the pending ones of the jobs due at once."""
    now = timezone.now()
    return _change_many(ids, "run now", {"next_run_at": now, "lease_until": None}, now=now, using=using)


def redrive_many(ids: Sequence[UUID], *, using: str | None = None) -> BulkOutcome:
    """Lets the dead ones of the jobs try again."""
    now = timezone.now()
    return _change_many(ids, "redrive", _redriven(now), now=now, using=using)


def drop_many(ids: Sequence[UUID], *, using: str | None = None) -> BulkOutcome:
    """Gives the dead ones of the jobs up for good."""
    return _change_many(ids, "drop", {"status": Status.DROPPED}, now=timezone.now(), using=using)


def find_live(biz_type: str, biz_id: str, *, using: str | None = None) -> Job:
    """The one job with that business key that may still fire.

    Raises JobNotFound where there is none and SeveralJobs where there are more.
    """
    jobs = Job.objects.using(using or router.db_for_read(Job)).select_related("biz_type")
    found = list(jobs.filter(biz_type__code=biz_type, biz_id=biz_id, status__in=LIVE).order_by("-id")[:100])
    if not found:
        raise JobNotFound(f"no job of {biz_type} with the biz id {biz_id!r} is pending or running")
    if len(found) > 1:
        raise SeveralJobs(biz_type, biz_id, [job.id for job in found])
    return found[0]


def _redriven(now: datetime) -> dict[str, Any]:
    return {
        "status": Status.PENDING,
        "next_run_at": now,
        "redriven_at": now,
        "attempt_base": F("attempts"),
        "system_errors": 0,
        "finished_at": None,
    }


def _change(
    job_id: UUID, verb: str, values: dict[str, Any], *, version: int | None, now: datetime, using: str | None
) -> Job:
    using = using or router.db_for_write(Job)
    jobs = Job.objects.using(using)
    rows = jobs.filter(id=job_id, status__in=allowed(verb))
    if (seen := rules.version(version)) is not None:
        rows = rows.filter(version=seen)
    with transaction.atomic(using=using):
        changed = rows.update(**values, version=F("version") + 1, updated_at=now)
        job = jobs.select_related("biz_type").filter(id=job_id).first()
        if changed and job is not None:
            transaction.on_commit(partial(_tell_timers, [job]), using=using, robust=True)
    if job is None:
        raise JobNotFound(f"there is no job {job_id}")
    if not changed:
        if version is not None and job.version != version:
            raise VersionConflict(job_id, asked=version, version=job.version, status=job.status)
        raise WrongState(job_id, verb=verb, status=job.status)
    return job


def _change_many(
    ids: Sequence[UUID], verb: str, values: dict[str, Any], *, now: datetime, using: str | None
) -> BulkOutcome:
    using = using or router.db_for_write(Job)
    # One order everywhere, or two of these deadlock.
    ordered = sorted(set(ids))
    changed = 0
    for start in range(0, len(ordered), BULK_ROWS):
        with transaction.atomic(using=using):
            locked = _locked(Job.objects.using(using).filter(id__in=ordered[start : start + BULK_ROWS]), verb)
            if not locked:
                continue
            rows = Job.objects.using(using).filter(id__in=locked)
            changed += rows.update(**values, version=F("version") + 1, updated_at=now)
            told = list(rows.select_related("biz_type").defer("body"))
            transaction.on_commit(partial(_tell_timers, told), using=using, robust=True)
    return BulkOutcome(changed, len(ordered) - changed)


def _locked(rows: QuerySet[Job], verb: str) -> list[UUID]:
    ready = rows.filter(status__in=allowed(verb)).order_by("id")
    return list(ready.select_for_update(no_key=True).values_list("id", flat=True))


def _tell_timers(jobs: Sequence[Job]) -> None:
    timers = {
        job.id: Timer(job.biz_type.lane, job.biz_type.code, job.id, job.next_run_at, job.priority) for job in jobs
    }
    pending = {job.id for job in jobs if job.status == Status.PENDING}
    if pending:
        move([timer for job_id, timer in timers.items() if job_id in pending])
    if gone := [timer for job_id, timer in timers.items() if job_id not in pending]:
        forget(gone)
