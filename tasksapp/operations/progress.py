"""Progress: how far an operation and its trial have come, and a sentence: what happens now, or why nothing does.

The trial: the first jobs go, and the others only if enough first attempts succeed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, NamedTuple
from uuid import UUID

from django.utils import timezone
from django.utils.dateparse import parse_datetime
from django.utils.formats import date_format
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from delayhub.clock import moment
from tasksapp.jobs.validation import utc_moment
from tasksapp.models import LIVE, Attempt, Job, Operation, Status
from tasksapp.operations.cursor import Cursor, unix_ms
from tasksapp.operations.verbs import BACKFILL
from tasksapp.stats.delivery_health import DeliveryHealth, delivery_health

State = Operation.State
#: Maintenance has a turn each second. After a longer silence the sentence says what keeps it.
SILENCE = timedelta(seconds=8)
#: A pace counts as reached from this share of it on.
REACHED = 0.8
#: Why its pace is not reached, by what the cursor holds.
_HOLDS = {
    "limit": gettext_lazy(
        "Not at its pace of %(pace)s: the limits of %(biz_type)s leave no more beside its other jobs."
    ),
    "late": gettext_lazy("Not at its pace of %(pace)s: with more, jobs of %(biz_type)s would begin late."),
    "begins": gettext_lazy("Not at its pace of %(pace)s: it grows as long as jobs of %(biz_type)s begin on time."),
    "time": gettext_lazy("Not at its pace of %(pace)s: the database changes no more in the time of operations."),
}
#: Why nothing moves, by what the cursor says, and the words that these sentences take.
_WAITS = {
    "operation": gettext_lazy("Waits until operation %(operation)s is done, which changes the same kind of jobs."),
    "paused": gettext_lazy("Waits: %(biz_type)s is paused."),
    "disabled": gettext_lazy("Waits: %(biz_type)s is disabled."),
    "breaker": gettext_lazy("Waits: the receiver of %(biz_type)s is down. It is tried again %(until)s."),
    "busy": gettext_lazy("Waits for a moment: the other jobs of %(biz_type)s use all that its limits allow."),
    "trial": gettext_lazy("Trial: %(ended)s of %(jobs)s first attempts have ended, %(succeeded)s of them well."),
    "overlap": gettext_lazy("Waits until the job of %(series)s before has finished: its jobs may not overlap."),
    "quota": gettext_lazy("Waits: the tenant has as many pending jobs as it may."),
    "locked": gettext_lazy("Waits for jobs of %(biz_type)s that somebody else is changing at this moment."),
}
_WORDS = ("operation", "biz_type", "ended", "jobs", "succeeded", "series")


@dataclass(frozen=True, kw_only=True, slots=True)
class Progress:
    """How far an operation has come.

    Args:
        done: jobs that the verb changed.
        waiting: jobs that it has still to look at; 0 once it has ended.
        left: jobs that were left alone, since they had changed meanwhile or the operation was stopped before.
        succeeded: of the changed jobs, those that succeeded since.
        failed: attempts of the changed jobs that failed since.
        dead: of the changed jobs, those that died since.
        per_second: jobs that were changed a second, lately; None where it does not run.
        finishes_at: when it will be done at this pace; None where that is not known.
        trial: ``running``, ``passed`` or ``failed``; None where there is none.
        sentence: what happens now, or why nothing does.
    """

    done: int
    waiting: int
    left: int
    succeeded: int
    failed: int
    dead: int
    per_second: float | None
    finishes_at: datetime | None
    trial: str | None
    sentence: str


def progress(operation: Operation, *, health: Callable[[], DeliveryHealth] | None = None) -> Progress:
    """How far the operation has come. It asks no server, unless nothing has moved for some seconds.

    Args:
        operation: the operation.
        health: says whether jobs are delivered; a list of operations asks only once.
    """
    health = health or delivery_health
    cursor, runs = Cursor.of(operation), operation.state == State.RUNNING
    waiting = max(0, (operation.planned or 0) - operation.done) if operation.state in _UNFINISHED else 0
    per_second = cursor.per_second if runs else None
    moves = runs and not cursor.waits and cursor.per_second > 0
    finishes = _later(waiting / cursor.per_second) if moves else None
    return Progress(
        done=operation.done,
        waiting=waiting,
        left=operation.left,
        succeeded=operation.succeeded,
        failed=operation.failed,
        dead=operation.dead,
        per_second=per_second,
        finishes_at=finishes,
        trial=cursor.trial,
        sentence=_sentence(operation, cursor, health),
    )


_UNFINISHED = (State.PLANNED, State.RUNNING)


def _later(seconds: float) -> datetime | None:
    """So long from now; None where there is no such day."""
    try:
        return utc_moment(timezone.now() + timedelta(seconds=seconds))
    except OverflowError:
        return None


def _sentence(operation: Operation, cursor: Cursor, health: Callable[[], DeliveryHealth]) -> str:
    match operation.state:
        case State.PLANNING:
            counted = operation.planned or 0
            said = ngettext("Counting: %(jobs)s job so far.", "Counting: %(jobs)s jobs so far.", counted)
            return _hindrance(operation, cursor, health) or said % {"jobs": f"{counted:,}"}
        case State.PLANNED:
            jobs = operation.planned or 0
            if operation.verb == BACKFILL:
                said = ngettext(
                    "%(jobs)s occurrence has no job. Nothing is made before the start.",
                    "%(jobs)s occurrences have no job. Nothing is made before the start.",
                    jobs,
                )
                return said % {"jobs": f"{jobs:,}"}
            said = ngettext(
                "%(jobs)s job matches. Nothing is changed before the start.",
                "%(jobs)s jobs match. Nothing is changed before the start.",
                jobs,
            )
            return said % {"jobs": f"{jobs:,}"}
        case State.RUNNING:
            return _hindrance(operation, cursor, health) or _running_sentence(operation, cursor)
    return _ended_sentence(operation)


def _running_sentence(operation: Operation, cursor: Cursor) -> str:
    if cursor.waits:
        return _waiting_sentence(cursor.waits)
    if cursor.turn_at is None:
        return _("Starts within a second.")
    runs = _("Runs: %(done)s of %(planned)s jobs, %(rate)s a second.") % {
        "done": f"{operation.done:,}",
        "planned": f"{operation.planned or 0:,}",
        "rate": f"{cursor.per_second:,.3g}",
    }
    return f"{runs} {_holding_sentence(operation, cursor)}".strip()


def _holding_sentence(operation: Operation, cursor: Cursor) -> str:
    """Why its pace is not reached; '' where it is, or nothing is known to hold it."""
    pace = operation.rate_per_second
    if pace is None or not 0 < cursor.per_second < pace * REACHED:  # 0: not measured yet
        return ""
    said = _HOLDS.get(cursor.holds.get("why", ""), "")
    return str(said % {"pace": f"{pace:,g}", "biz_type": cursor.holds.get("biz_type", "")})


def _ended_sentence(operation: Operation) -> str:
    words = {"done": f"{operation.done:,}", "left": f"{operation.left:,}", "why": operation.state_reason}
    if operation.state == State.STOPPED:
        return _("Stopped after %(done)s jobs; %(left)s were not touched. Reason: %(why)s.") % words
    if operation.state == State.FAILED:
        return _("Failed after %(done)s jobs: %(why)s.") % words
    if operation.verb == BACKFILL:
        return _("Done: %(done)s jobs were made.") % words
    if not operation.left:
        return _("Done: %(done)s jobs were changed.") % words
    if operation.state_reason:
        return _("Done: %(done)s jobs were changed, %(left)s were left alone. %(why)s") % words
    return _("Done: %(done)s jobs were changed; %(left)s had changed meanwhile and were left alone.") % words


def _waiting_sentence(waits: dict[str, Any]) -> str:
    """Why it waits, of what the turn wrote down."""
    said = _WAITS.get(waits.get("why", ""), _("Waits for its next turn."))
    return str(said % {**dict.fromkeys(_WORDS, ""), **waits, "until": _clock_time(waits.get("until"))})


def _clock_time(given: Any) -> str:
    at = parse_datetime(given) if isinstance(given, str) else None
    return "" if at is None else date_format(timezone.localtime(at), "H:i:s")


def _hindrance(operation: Operation, cursor: Cursor, health: Callable[[], DeliveryHealth]) -> str:
    """What keeps maintenance from working at it; '' where its last turn was just now."""
    last = operation.updated_at if cursor.turn_at is None else moment(cursor.turn_at)
    if unix_ms(timezone.now()) - unix_ms(max(last, operation.updated_at)) < SILENCE.total_seconds() * 1000:
        return ""
    found = health()
    return "" if found.is_ok else _("Nothing moves: %(why)s.") % {"why": found.sentence}


class TrialResult(NamedTuple):
    """How the first attempts of the trial's jobs ended so far.

    Args:
        jobs: those that count: not the ones that somebody called off or took over meanwhile.
        succeeded: first attempts that succeeded.
        failed: those that failed, and jobs that ended without an attempt.
    """

    jobs: int
    succeeded: int
    failed: int

    @property
    def ended(self) -> int:
        """How many have ended."""
        return self.succeeded + self.failed

    def verdict(self, *, percent: int) -> str:
        """``passed``, ``failed``, or ``running`` while more attempts are needed to know.

        Args:
            percent: how many of a hundred must succeed.
        """
        if (self.jobs - self.failed) * 100 < self.jobs * percent:
            return "failed"
        return "passed" if self.ended == self.jobs else "running"


def trial_result(operation: Operation, cursor: Cursor, *, using: str) -> TrialResult:
    """How the trial stands.

    Args:
        operation: all its jobs so far are the trial's.
        cursor: says since when attempts count.
        using: the database.
    """
    jobs = Job.objects.using(using).filter(operation_id=operation.pk)
    statuses: dict[UUID, str] = dict(jobs.values_list("id", "status"))
    attempts = Attempt.objects.using(using).filter(job_id__in=statuses, started_at__gte=moment(cursor.trial_at or 0))
    first: dict[UUID, str] = {}
    for job_id, error in attempts.order_by("job_id", "number").values_list("job_id", "error"):
        first.setdefault(job_id, "failed" if error else "succeeded")
    found = Counter(first.get(job_id) or _without_attempt(status) for job_id, status in statuses.items())
    return TrialResult(len(statuses) - found["gone"], found["succeeded"], found["failed"])


def _without_attempt(status: str) -> str:
    """What a job counts as that has no attempt since the trial began."""
    if status in LIVE:
        return "waiting"
    if status == Status.SUCCEEDED:
        return "succeeded"
    return "failed" if status in {Status.DEAD, Status.SKIPPED} else "gone"
