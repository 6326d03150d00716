"""Verbs: what a person or a caller may do to a job that is there. Each is one UPDATE.

A verb is guarded by the status it starts from and, where the caller names it, by the version that the caller saw. When
the transaction commits, the job's timer follows.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from enum import Enum
from typing import Any
from uuid import UUID

from django.db import router, transaction
from django.db.models import F
from django.utils import timezone

from tasksapp.errors import InvalidJob, JobNotFound, VersionConflict, WrongState
from tasksapp.jobs.validation import DELAY, DUE_AT, VERSION, due_time
from tasksapp.models import Job, Status, Transition
from tasksapp.timers.arming import follow

#: Columns and their new values.
Values = dict[str, Any]


class Verb(Enum):
    """What may be done to a job: the transition it makes, and the columns it changes beside the status."""

    CANCEL = Transition.CANCEL, lambda now, due: {"finished_at": now}
    RESCHEDULE = (
        Transition.RESCHEDULE,
        lambda now, due: {"due_at": due, "next_run_at": due, "redriven_at": None, "lease_until": None},
    )
    RUN_NOW = Transition.RUN_NOW, lambda now, due: {"next_run_at": now, "lease_until": None}
    REDRIVE = (
        Transition.REDRIVE,
        lambda now, due: {
            "next_run_at": now,
            "redriven_at": now,
            "attempt_base": F("attempts"),
            "redrives": F("redrives") + 1,
            "system_errors": 0,
            "finished_at": None,
        },
    )
    DROP = Transition.DROP, lambda now, due: dict[str, Any]()

    def __init__(self, transition: Transition, changes: Callable[[datetime, datetime | None], Values]) -> None:
        self.transition = transition
        self._changes = changes

    @property
    def source(self) -> Status:
        """The status in which a job takes the verb."""
        return self.transition.source

    def __str__(self) -> str:
        return self.transition.verb

    def values(self, *, now: datetime, due: datetime | None = None) -> Values:
        """All columns that the verb changes, with their new values.

        Args:
            now: when it is done.
            due: the new time, of a job that is rescheduled.
        """
        changes = self._changes(now, due)
        return {**changes, "status": self.transition.target, "version": F("version") + 1, "updated_at": now}


def cancel(job_id: UUID, *, version: int | None = None, using: str | None = None) -> Job:
    """Calls a pending job off; from then on nothing is sent.

    Raises JobNotFound, WrongState (it is not pending) or VersionConflict.
    """
    return apply(Verb.CANCEL, job_id, version=version, using=using)


def reschedule(
    job_id: UUID,
    *,
    due_at: datetime | str | None = None,
    delay: timedelta | float | None = None,
    version: int | None = None,
    using: str | None = None,
) -> Job:
    """Moves a pending job to another time.

    Raises InvalidJob (the time cannot be), JobNotFound, WrongState (the job is not pending) or VersionConflict.
    """
    return apply(Verb.RESCHEDULE, job_id, due_at=due_at, delay=delay, version=version, using=using)


def run_now(job_id: UUID, *, version: int | None = None, using: str | None = None) -> Job:
    """Makes a pending job due at once; a pause of its biz type still holds it.

    Raises JobNotFound, WrongState (it is not pending) or VersionConflict.
    """
    return apply(Verb.RUN_NOW, job_id, version=version, using=using)


def redrive(job_id: UUID, *, version: int | None = None, using: str | None = None) -> Job:
    """Lets a dead job try again, at once and with a new budget of attempts and age.

    Raises JobNotFound, WrongState (it is not dead) or VersionConflict.
    """
    return apply(Verb.REDRIVE, job_id, version=version, using=using)


def drop(job_id: UUID, *, version: int | None = None, using: str | None = None) -> Job:
    """Gives a dead job up for good.

    Raises JobNotFound, WrongState (it is not dead) or VersionConflict.
    """
    return apply(Verb.DROP, job_id, version=version, using=using)


def apply(
    verb: Verb,
    job_id: UUID,
    *,
    due_at: datetime | str | None = None,
    delay: timedelta | float | None = None,
    version: int | None = None,
    using: str | None = None,
) -> Job:
    """The job as it is after the verb.

    Args:
        verb: what is done.
        job_id: to which job.
        due_at: the new time, of a job that is rescheduled; or
        delay: how long from now.
        version: the version that the caller saw; None for any.
        using: the database.

    Raises InvalidJob, JobNotFound, WrongState or VersionConflict.
    """
    using = using or router.db_for_write(Job)
    now = timezone.now()
    values = verb.values(now=now, due=new_time(verb, due_at=due_at, delay=delay, now=now))
    jobs = Job.objects.using(using)
    rows = jobs.filter(id=job_id, status=verb.source)
    if (seen := VERSION(version)) is not None:
        rows = rows.filter(version=seen)
    with transaction.atomic(using=using):
        changed = rows.update(**values)
        job = jobs.select_related("biz_type").filter(id=job_id).first()
        if changed and job is not None:
            follow_on_commit([job], using=using)
    if job is None:
        raise JobNotFound(f"there is no job {job_id}")
    if not changed:
        if version is not None and job.version != version:
            raise VersionConflict(job_id, asked=version, version=job.version, status=job.status)
        raise WrongState(job_id, verb=str(verb), status=job.status)
    return job


def new_time(verb: Verb, *, due_at: Any, delay: Any, now: datetime) -> datetime | None:
    """When a rescheduled job is due; None for all other verbs. Raises InvalidJob where that cannot be."""
    if verb is not Verb.RESCHEDULE:
        return None
    due, wait = DUE_AT(due_at), DELAY(delay)
    if due is None and wait is None:
        raise InvalidJob("due_at", "required", "give due_at or delay")
    return due_time(due=due, wait=wait, now=now)


def follow_on_commit(jobs: list[Job], *, using: str) -> None:
    """Lets the timers of changed jobs follow once the change is committed; a failure is left to the loader."""

    # A function, not a partial: Django names a hook that fails by its __qualname__.
    def follow_rows() -> None:
        follow(jobs)

    transaction.on_commit(follow_rows, using=using, robust=True)
