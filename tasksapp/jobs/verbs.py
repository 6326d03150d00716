"""Verbs: what a person or a caller may do to a job that is there. Each locks the row and makes one UPDATE.

A verb is guarded by the status it starts from and, where the caller names it, by the version that the caller saw. What
a person, a key or a receiver does is recorded. When the transaction commits, the job's timer follows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime, timedelta
from enum import Enum
from typing import Any
from uuid import UUID

from django.db import IntegrityError, connections, router, transaction
from django.db.models import F
from django.utils import timezone

from tasksapp.access import audit
from tasksapp.access.actors import OWN_CODE, Actor
from tasksapp.biz_types.visible import refuse_moving
from tasksapp.errors import InvalidJob, JobNotFound, OneIsLive, VersionConflict, WrongState
from tasksapp.jobs import job_log
from tasksapp.jobs.called_off import cancel_resolved
from tasksapp.jobs.flow_order import is_in_order, refuse_not_first, wake_keys
from tasksapp.jobs.masking import for_audit
from tasksapp.jobs.resolved import refuse_resolved
from tasksapp.jobs.validation import DELAY, DUE_AT, VERSION, due_time
from tasksapp.models import Job, Status, Transition
from tasksapp.models.conflicts import repeated
from tasksapp.models.sealable import stored
from tasksapp.sql.insert_live_jobs import live_jobs
from tasksapp.sql.ordered_keys import keys_in_order
from tasksapp.timers.arming import follow, forget
from tasksapp.timers.timer import Timer

#: Columns and their new values.
Values = dict[str, Any]


#: What is read of a job for a verb: all of its own, and of its biz type what most verbs ask.
_READ = (
    *(field.name for field in Job._meta.concrete_fields),
    *(
        f"biz_type__{name}"
        for name in (
            "code",
            "queue_name",
            "lane",
            "target",
            "ordered",
            "moved_to",
            "masked_fields",
            "encrypted",
            "tenant__code",
        )
    ),
)


class _Columns:
    """The columns of whichever rows an UPDATE finds, as a row's attributes are those of one."""

    def __getattr__(self, name: str) -> F:
        return F(name)


COLUMNS = _Columns()


class Verb(Enum):
    """What may be done to a job: the transition it makes, and the columns it changes beside the status."""

    CANCEL = Transition.CANCEL, lambda row, now, due: {"finished_at": now}
    RESCHEDULE = (
        Transition.RESCHEDULE,
        lambda row, now, due: {"due_at": due, "next_run_at": due, "redriven_at": None, "lease_until": None},
    )
    RUN_NOW = Transition.RUN_NOW, lambda row, now, due: {"next_run_at": now, "lease_until": None}
    REDRIVE = (
        Transition.REDRIVE,
        lambda row, now, due: {
            "next_run_at": now,
            "redriven_at": now,
            "attempt_base": row.attempts,
            "redrives": row.redrives + 1,
            "system_errors": 0,
            "finished_at": None,
        },
    )
    DROP = Transition.DROP, lambda row, now, due: dict[str, Any]()

    def __init__(self, transition: Transition, changes: Callable[[Any, datetime, datetime | None], Values]) -> None:
        self.transition = transition
        self._changes = changes

    @property
    def source(self) -> Status:
        """The status in which a job takes the verb."""
        return self.transition.source

    def __str__(self) -> str:
        return self.transition.verb

    @property
    def word(self) -> str:
        """Its name for programs: in the audit, among the permissions, in addresses."""
        return self.name.lower()

    def changes(self, *, now: datetime, due: datetime | None = None, row: Any = COLUMNS) -> Values:
        """The columns that are the verb's own, with their new values; the arguments are those of :meth:`values`."""
        return self._changes(row, now, due)

    def values(
        self, *, now: datetime, due: datetime | None = None, by: Actor | None = None, row: Any = COLUMNS
    ) -> Values:
        """All columns that the verb changes, with their new values.

        Args:
            now: when it is done.
            due: the new time, of a job that is rescheduled.
            by: who does it; None for the project's own code.
            row: the job that it is done to, where that is locked; else the values are for an UPDATE of any rows.
        """
        return {
            **self.changes(now=now, due=due, row=row),
            # A job that an operation changed before is that operation's no more.
            "operation_id": None,
            "status": self.transition.target,
            "changed_by": (by or OWN_CODE).name,
            "version": row.version + 1,
            "updated_at": now,
        }


def cancel(
    job_id: UUID, *, version: int | None = None, by: Actor | None = None, reason: str = "", using: str | None = None
) -> Job:
    """Calls a pending job off; from then on nothing is sent.

    Raises JobNotFound, WrongState (it is not pending) or VersionConflict.
    """
    return apply(Verb.CANCEL, job_id, version=version, by=by, reason=reason, using=using)


def reschedule(
    job_id: UUID,
    *,
    due_at: datetime | str | None = None,
    delay: timedelta | float | None = None,
    version: int | None = None,
    by: Actor | None = None,
    reason: str = "",
    using: str | None = None,
) -> Job:
    """Moves a pending job to another time.

    Raises InvalidJob (the time cannot be), JobNotFound, WrongState (the job is not pending) or VersionConflict.
    """
    return apply(
        Verb.RESCHEDULE, job_id, due_at=due_at, delay=delay, version=version, by=by, reason=reason, using=using
    )


def run_now(
    job_id: UUID, *, version: int | None = None, by: Actor | None = None, reason: str = "", using: str | None = None
) -> Job:
    """Makes a pending job due at once; a pause of its biz type still holds it.

    Raises JobNotFound, WrongState (it is not pending), NotFirst (another job of its flow key comes first, and they run
    in their order) or VersionConflict.
    """
    return apply(Verb.RUN_NOW, job_id, version=version, by=by, reason=reason, using=using)


def redrive(
    job_id: UUID,
    *,
    version: int | None = None,
    lift: bool = False,
    by: Actor | None = None,
    reason: str = "",
    using: str | None = None,
) -> Job:
    """Lets a dead job try again, at once and with a new budget of attempts and age.

    ``lift`` takes back the resolve of its business key, if there was one.

    Raises JobNotFound, WrongState (it is not dead), VersionConflict, KeyResolved (its business key is resolved),
    AlreadyAnswered (that is an answer which another job has taken) or OneIsLive (another job of the biz id is live, and
    its biz type keeps one).
    """
    return apply(Verb.REDRIVE, job_id, version=version, lift=lift, by=by, reason=reason, using=using)


def drop(
    job_id: UUID, *, version: int | None = None, by: Actor | None = None, reason: str = "", using: str | None = None
) -> Job:
    """Gives a dead job up for good.

    Raises JobNotFound, WrongState (it is not dead) or VersionConflict.
    """
    return apply(Verb.DROP, job_id, version=version, by=by, reason=reason, using=using)


@repeated
def apply(
    verb: Verb,
    job_id: UUID,
    *,
    due_at: datetime | str | None = None,
    delay: timedelta | float | None = None,
    version: int | None = None,
    lift: bool = False,
    by: Actor | None = None,
    reason: str = "",
    using: str | None = None,
) -> Job:
    """The job as it is after the verb.

    Args:
        verb: what is done.
        job_id: to which job.
        due_at: the new time, of a job that is rescheduled; or
        delay: how long from now.
        version: the version that the caller saw; None for any.
        lift: whether a redrive takes back the resolve of the job's business key.
        by: who does it, for the audit; None for the project's own code, which leaves no entry there.
        reason: why, for the audit.
        using: the database.

    Raises InvalidJob, TenantMoving, JobNotFound, WrongState, VersionConflict, KeyResolved, NotFirst or OneIsLive.
    """
    using = using or router.db_for_write(Job)
    now = timezone.now()
    due, seen = new_time(verb, due_at=due_at, delay=delay, now=now), VERSION(version)
    with transaction.atomic(using=using):
        job = locked(job_id, verb=str(verb), source=verb.source, version=seen, using=using)
        if verb is Verb.REDRIVE:
            refuse_resolved(job, lift=lift, using=using)
        if verb is Verb.RUN_NOW:
            refuse_not_first(job, using=using)
        values = verb.values(now=now, due=due, by=by, row=job)
        with one_by_one(job, key=job.live_key, biz_id=job.biz_id, using=using):
            change(job, values, verb=verb.word, by=by, reason=reason, using=using)
        follow_on_commit([job], verb=verb.word, by=by, using=using, look_again=verb is Verb.REDRIVE)
    return job


def locked(job_id: UUID, *, verb: str, source: Status, version: int | None, using: str) -> Job:
    """The job as it must be for a verb; only the caller's transaction can change it until that ends.

    Args:
        job_id: which job.
        verb: what is to be done to it.
        source: the status that the verb takes.
        version: the version that the caller saw; None for any.
        using: the database.

    Raises JobNotFound, TenantMoving, VersionConflict or WrongState.
    """
    jobs = Job.objects.using(using).select_related("biz_type__tenant").only(*_READ)
    if not connections[using].features.has_select_for_update:
        # SQLite: a transaction that begins by reading is refused, without waiting, when it comes to write.
        jobs.filter(id=job_id).update(version=F("version"))
    # Not ``first()``, which has Django compare the columns of both tables with the order by id.
    job = next(iter(jobs.select_for_update(no_key=True, of=("self",)).filter(id=job_id)), None)
    if job is None:
        raise JobNotFound(f"there is no job {job_id}")
    refuse_moving(job.biz_type)
    if version is not None and job.version != version:
        raise VersionConflict(job_id, asked=version, version=job.version, status=job.status)
    if job.status != source:
        raise WrongState(job_id, verb=verb, status=job.status)
    return job


@contextmanager
def one_by_one(job: Job, *, key: str | None, biz_id: str, using: str) -> Iterator[None]:
    """Lets the block change a job that may become the second live one of that key and biz id. Raises OneIsLive."""
    if key is None:
        yield
        return
    try:
        with transaction.atomic(using=using):
            yield
    except IntegrityError:
        live = live_jobs([(job.biz_type_id, key)], using=using).get((job.biz_type_id, key))
        raise OneIsLive(job.biz_type.code, biz_id, live) from None


def change(job: Job, values: Mapping[str, Any], *, verb: str, by: Actor | None, reason: str, using: str) -> None:
    """Stores new values of a locked job, which has them afterwards, and who changed it."""
    before = {name: stored(job, name) for name in values}
    Job.objects.using(using).filter(id=job.id).update(**values)
    for name, value in values.items():
        setattr(job, name, value)
    audit.record_deed(
        verb, by=by, using=using, job_id=job.id, biz_type_id=job.biz_type_id, what=named(job),
        before=for_audit(job, before), after=for_audit(job, values), reason=reason,
    )  # fmt: skip


def named(job: Job) -> str:
    """What a person knows the job by."""
    return f"{job.biz_type.label} {job.biz_id or job.id}"


def new_time(verb: Verb, *, due_at: Any, delay: Any, now: datetime) -> datetime | None:
    """When a rescheduled job is due; None for all other verbs. Raises InvalidJob where that cannot be."""
    if verb is not Verb.RESCHEDULE:
        return None
    due, wait = DUE_AT(due_at), DELAY(delay)
    if due is None and wait is None:
        raise InvalidJob("due_at", "required", "give due_at or delay")
    return due_time(due=due, wait=wait, now=now)


def follow_on_commit(
    jobs: list[Job],
    *,
    verb: str,
    by: Actor | None,
    using: str,
    former_key: str | None = None,
    look_again: bool = False,
) -> None:
    """Lets the timers of changed jobs follow once the change is committed; a failure is left to the loader.

    Args:
        jobs: the jobs, with their biz types.
        verb: what was done to them, for the log.
        by: who did it; None for the project's own code.
        using: the database.
        former_key: the flow key that they had before; None: the same.
        look_again: whether they may have got a business key that was resolved meanwhile: such jobs are cancelled.
    """

    # A function, not a partial: Django names a hook that fails by its __qualname__.
    def follow_rows() -> None:
        for job in jobs:
            job_log.note_verb(verb, [job], job.biz_type, by=by)
        if look_again:
            cancel_resolved(jobs, using=using)
        in_order = [job for job in jobs if is_in_order(job)]
        ordered = keys_in_order(in_order)
        # Of jobs in order only the first of a key needs a timer.
        follow([job for job in jobs if job.status != Status.PENDING or not is_in_order(job)], former_key=former_key)
        if former_key is not None:
            left = [job for job in in_order if job.flow_key != former_key]
            forget([Timer.of(job, job.biz_type)._replace(flow_key=former_key) for job in left])
            ordered.update((job.biz_type_id, former_key) for job in jobs if job.biz_type.is_ordered)
        if ordered:
            wake_keys(ordered, using=using)

    transaction.on_commit(follow_rows, using=using, robust=True)
