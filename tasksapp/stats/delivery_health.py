"""Delivery health: whether jobs are delivered at this moment, and if not, why and what to do.

Workers leave the time of their last claim in Redis, for each lane. The loader leaves in the database which Redis it
works with. A process that asks compares the two with the Redis that its own settings name.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from django.db import DatabaseError, router
from django.utils import timezone
from django.utils.translation import gettext as _

from tasksapp.errors import AWAY
from tasksapp.models import Job
from tasksapp.stats.database_lock import TableLock, lock_on_jobs
from tasksapp.stats.database_writes import NoWrites, no_writes
from tasksapp.stats.timer_server import LoaderSeen, TimerServer, loaders_seen, look_at_timers
from tasksapp.timers.fitness import settings_faults
from tasksapp.timers.lanes import timer_address, watched

#: Workers with a free slot ask for timers once a second, and loaders report every two: longer silence means something.
SILENCE = timedelta(seconds=5)
#: After a loader has left its seat another takes over, or the claims of its worker end too: SILENCE and a margin.
HANDOVER = timedelta(seconds=8)
#: A turn of a loader may load a million timers, but it reports meanwhile; longer than this, its turns fail.
FAILING = timedelta(seconds=60)


class DeliveryState(StrEnum):
    """Whether jobs are delivered, or the first reason why they are not."""

    OK = "ok"
    DATABASE_AWAY = "database away"
    DATABASE_LOCKED = "database locked"
    DATABASE_FULL = "database full"
    DATABASE_READ_ONLY = "database read-only"
    DATABASE_STANDBY = "database standby"
    SETTINGS = "settings"
    REDIS_AWAY = "redis away"
    OTHER_REDIS = "other redis"
    NO_WORKER = "no worker"
    WORKERS_FULL = "workers full"
    NO_LOADER = "no loader"
    LOADER_FAILS = "loader fails"


@dataclass(frozen=True, kw_only=True, slots=True)
class DeliveryHealth:
    """Whether jobs are delivered at this moment.

    Args:
        state: the state.
        sentence: what is wrong and what to do, for anybody: no address and no error text; '' while all is well.
        detail: addresses and error texts, for operators; never a password.
    """

    state: DeliveryState
    sentence: str = ""
    detail: str = ""

    @property
    def is_ok(self) -> bool:
        """Whether jobs are delivered."""
        return self.state is DeliveryState.OK

    @property
    def goes_on(self) -> bool:
        """Whether due jobs go out, maybe late: workers find those without a timer in the database."""
        return self.state in {DeliveryState.OK, DeliveryState.REDIS_AWAY, DeliveryState.OTHER_REDIS}

    def __str__(self) -> str:
        return f"{self.sentence} ({self.detail})" if self.detail else self.sentence or "ok"


def delivery_health() -> DeliveryHealth:
    """Whether jobs are delivered at this moment, and why not. Never raises for a server that is away.

    It asks the database and Redis once, and waits a second for Redis at most; once in a few seconds while it hangs.
    """
    using = router.db_for_write(Job)
    try:
        reports, refusal = loaders_seen(using=using), no_writes(using=using)
    except DatabaseError as error:
        return DeliveryHealth(
            state=DeliveryState.DATABASE_AWAY,
            sentence=_("no job is delivered: the database does not answer"),
            detail=type(error).__name__,
        )
    if refusal is not None:
        return takes_no_writes(refusal)
    if settings_faults():
        return DeliveryHealth(
            state=DeliveryState.SETTINGS,
            sentence=_("no job is delivered: the settings name no Redis for them, and “manage.py check” says why"),
        )
    try:
        judged = _judged(watched(look_at_timers), reports)
    except AWAY as error:
        return DeliveryHealth(
            state=DeliveryState.REDIS_AWAY,
            sentence=_(
                "Redis does not answer: workers go on from the database, but Celery tasks wait, and so do jobs of biz"
                " types with a rate or slots; start it, or correct the broker's address"
            ),
            detail=f"{timer_address()}: {type(error).__name__}",
        )
    # Only then: pages that find all well need not ask for it.
    lock = None if judged.is_ok else lock_on_jobs(using=using)
    return judged if lock is None else waits_for(lock)


def takes_no_writes(refusal: NoWrites) -> DeliveryHealth:
    """Return what to say while the database answers and takes no writes."""
    match refusal:
        case NoWrites.FULL:
            state = DeliveryState.DATABASE_FULL
            sentence = _(
                "no job is created, and none is done: the database's disk is full; make room, or give it a larger disk"
            )
        case NoWrites.READ_ONLY:
            state = DeliveryState.DATABASE_READ_ONLY
            sentence = _("no job is created, and none is done: the database is read-only; let it take changes again")
        case NoWrites.STANDBY:
            state = DeliveryState.DATABASE_STANDBY
            sentence = _(
                "no job is created, and none is done: this process is connected to a standby of the database; name the"
                " primary in its address, or promote the standby"
            )
    return DeliveryHealth(state=state, sentence=sentence)


def waits_for(lock: TableLock) -> DeliveryHealth:
    """What to say where nothing can be done to jobs until that lock is given up."""
    since = timezone.localtime(lock.since)
    return DeliveryHealth(
        state=DeliveryState.DATABASE_LOCKED,
        sentence=_(
            "no job is created or delivered: the table of jobs is locked since %(since)s, by a migration, a backup or a"
            " person; wait for that, or end it"
        )
        % {"since": f"{since:%Y-%m-%d %H:%M:%S %Z}"},
        detail=f"PostgreSQL's process {lock.pid}, {lock.application or 'without a name'}",
    )


def _judged(found: TimerServer, reports: Sequence[LoaderSeen]) -> DeliveryHealth:
    silent = {lane: at for lane, at in found.claimed.items() if at is None or found.now - at > SILENCE}
    if silent and not (found.has_loader and not any(found.claimed.values())):
        return _nobody_claims(found, silent, reports)
    return _loader_health(found, [report for report in reports if report.epoch == found.epoch])


def _nobody_claims(
    found: TimerServer, silent: dict[str, datetime | None], reports: Sequence[LoaderSeen]
) -> DeliveryHealth:
    words = {"lanes": ", ".join(silent), "since": _since(list(silent.values()))}
    at_work = [report for report in reports if report.age <= SILENCE]
    if any(report.epoch == found.epoch for report in at_work):
        return DeliveryHealth(
            state=DeliveryState.WORKERS_FULL,
            sentence=_(
                "no job is delivered: workers run, but none has taken the timers of %(lanes)s since %(since)s. Their"
                " slots are full of long tasks (start more workers, or give such tasks a queue and workers of their"
                " own), or their -Q leaves %(lanes)s out"
            )
            % words
            if words["since"]
            else _(
                "no job is delivered: workers run, but none has taken the timers of %(lanes)s. Their slots are full of"
                " long tasks (start more workers, or give such tasks a queue and workers of their own), or their -Q"
                " leaves %(lanes)s out"
            )
            % words,
        )
    if at_work and len(silent) == len(found.claimed):
        elsewhere = "; ".join(f"worker {report.worker}: {report.redis}" for report in at_work)
        return DeliveryHealth(
            state=DeliveryState.OTHER_REDIS,
            sentence=_(
                "jobs are delivered seconds late, when the loader finds them overdue: the workers keep the timers in"
                " another Redis than this process; give both the same broker URL"
            ),
            detail=f"this process: {timer_address()}; {elsewhere}",
        )
    return DeliveryHealth(
        state=DeliveryState.NO_WORKER,
        sentence=_(
            "no job is delivered: no worker takes the timers of %(lanes)s since %(since)s. Either none runs (start one"
            " with “celery -A … worker”, without -Q or with %(lanes)s in its -Q), or those that run hang or wait, such"
            " as for a lock in the database (their processes and logs say)"
        )
        % words
        if words["since"]
        else _(
            "no job is delivered: no worker takes the timers of %(lanes)s. Either none runs (start one with"
            " “celery -A … worker”, without -Q or with %(lanes)s in its -Q), or those that run hang or wait, such as"
            " for a lock in the database (their processes and logs say)"
        )
        % words,
    )


def _loader_health(found: TimerServer, reports: Sequence[LoaderSeen]) -> DeliveryHealth:
    if not found.has_loader and not any(report.age <= HANDOVER for report in reports):
        return DeliveryHealth(
            state=DeliveryState.NO_LOADER,
            sentence=_("jobs may wait without a timer: workers run, but none has the loader; restart them"),
        )
    if reports and reports[0].age > FAILING:
        since = timezone.localtime(timezone.now() - reports[0].age)
        return DeliveryHealth(
            state=DeliveryState.LOADER_FAILS,
            sentence=_(
                "jobs may wait without a timer: the loader's turns have failed since %(since)s; the log of its worker"
                " says why"
            )
            % {"since": f"{since:%Y-%m-%d %H:%M:%S %Z}"},
            detail=f"worker {reports[0].worker}",
        )
    return DeliveryHealth(state=DeliveryState.OK)


def _since(claimed: Sequence[datetime | None]) -> str:
    """Since when none was claimed; the earliest where lanes differ, and nothing where no worker ever came."""
    known = [at for at in claimed if at is not None]
    return f"{timezone.localtime(min(known)):%Y-%m-%d %H:%M:%S %Z}" if known else ""
