"""Feed: how many jobs a second an operation may let start beside the fresh jobs of the same biz type.

The engine takes due jobs in the order of their times and priorities. Redriven ones come last, so fresh jobs overtake
them; but only for some minutes, and workers and receivers that are busy with redriven jobs make fresh ones late. The
feed keeps that from happening: it lets no more jobs become due than what the limits of the biz type leave free beside
the fresh ones, and it looks again in each turn (decision 27).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

from django.db.models import Q, QuerySet

from delayhub.clock import moment
from tasksapp.biz_types.breaker import CLOSED, Breaker, read_breakers
from tasksapp.biz_types.gates import gate_of
from tasksapp.models import Attempt, BizType, Job, Operation, Status
from tasksapp.operations.cursor import Walk
from tasksapp.timers.lanes import patient_lane

#: A turn lets only such jobs go as start so soon; a stop and another pace act that fast.
LOOK_AHEAD = timedelta(seconds=1.5)
#: How much of a delivery rate is used up at most, fresh jobs included. At the whole of it jobs stand in line.
SHARE = 0.9
#: A job that is due for so long and still waits shows that the receiver or the workers do not keep up.
BEHIND = timedelta(milliseconds=500)
#: How many such jobs are taken for nothing: a claim or a flush may be under way.
TOLERATED = 5
#: Jobs that ended in the last seconds show how late jobs are at this moment, and stand for fresh ones that will come.
LATELY, SAMPLES = timedelta(seconds=2), 100
#: Jobs that ended by an attempt; what was called off used no slot and no permit.
_TRIED = (Status.SUCCEEDED, Status.DEAD)
#: Rows that a count looks at.
MOST_COUNTED = 10_000
#: It begins with so many a second, and grows while jobs are on time: fast until they were late once, then slowly.
FIRST, FAST, SLOW = 50.0, 1.1, 1.02
#: It goes no lower than so many a second, and no lower than this share of what a delivery rate leaves free: below that
#: jobs are late for other reasons, and the operation would only never end.
LEAST, LEAST_SHARE = 5.0, 0.2
#: What it is multiplied by where jobs are a little late, clearly late, and far behind.
EASE, SHRINK, HALVE = 0.95, 0.7, 0.5
#: Lateness is judged beside what it usually is, which is learned too: it may rise so much from one turn to the next.
DRIFT = 1.05
#: What it is taken for until a job has ended.
USUAL_MS = 10.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Demand:
    """What the biz type has to do at this moment, and how well it keeps up.

    Args:
        fresh_per_second: jobs that are none of the operation's.
        behind: jobs that should have run by now, and wait.
        late_ms: how late three of four attempts began at most, lately; None where there were none.
    """

    fresh_per_second: float
    behind: int
    late_ms: float | None = None


def feed_of(walk: Walk, biz_type: BizType, demand: Demand, *, breaker: Breaker, now: datetime) -> float:
    """Jobs a second that may start now; 0 for none. What was learned is left in the walk.

    A rate says how much is possible at best. How much is possible in fact is seen by the lateness of what runs: it
    rises as soon as jobs stand in line, whether for permits, for slots or for workers.

    Args:
        walk: with what the turns before have learned.
        biz_type: with its limits.
        demand: what it has to do beside.
        breaker: that of its receiver.
        now: the time.
    """
    gate = gate_of(biz_type, now=now, breaker=breaker)
    if walk.feed is None and gate.rate_per_second is not None:
        walk.feed = min(FIRST, gate.rate_per_second * LEAST_SHARE)
    walk.feed = min(max(_learned(walk, demand), LEAST), float(MOST_COUNTED))
    if gate.rate_per_second is None:
        return walk.feed
    free = gate.rate_per_second * SHARE - demand.fresh_per_second
    walk.feed = min(max(walk.feed, free * LEAST_SHARE), gate.rate_per_second)
    # What is behind is worked off within a second first.
    return max(0.0, min(walk.feed, free - max(0, demand.behind - TOLERATED)))


def why_held(walk: Walk, feed: float) -> str:
    """Why no more may start than that feed of the walk: ``limit``, ``late``, or ``begins`` while it still grows."""
    if walk.feed is not None and feed < walk.feed:
        return "limit"
    return "late" if walk.was_late else "begins"


def _learned(walk: Walk, demand: Demand) -> float:
    """The feed of this turn, as the lateness of the last seconds asks for it."""
    if demand.late_ms is not None:
        usual = demand.late_ms if walk.usual_ms is None else walk.usual_ms * DRIFT
        walk.usual_ms = max(1.0, min(usual, demand.late_ms))
    if walk.feed is None:
        return FIRST
    usual, late = walk.usual_ms or USUAL_MS, demand.late_ms or 0.0
    if demand.behind > TOLERATED:
        factor = HALVE
    elif late > usual * 4 + 30:
        factor = SHRINK
    elif late > usual * 2 + 10:
        factor = EASE
    else:
        return walk.feed * (SLOW if walk.was_late else FAST)
    walk.was_late = True
    return walk.feed * factor


def demand_of(operation: Operation, biz_type: BizType, *, now: datetime, using: str) -> Demand:
    """What the biz type has to do beside the operation, by queries that indexes serve.

    Args:
        operation: the operation, whose own jobs are no fresh ones.
        biz_type: the biz type.
        now: the time.
        using: the database.
    """
    jobs = Job.objects.using(using).filter(biz_type_id=biz_type.id)
    pending = jobs.filter(status=Status.PENDING)
    behind = pending.filter(next_run_at__lte=now - BEHIND)
    coming = pending.filter(next_run_at__gt=now - BEHIND, next_run_at__lte=now + LOOK_AHEAD)
    ended = jobs.filter(finished_at__gt=now - LATELY, status__in=_TRIED)
    fresh = Q(operation_id=None) | ~Q(operation_id=operation.pk)
    return Demand(
        fresh_per_second=max(
            _bounded(coming.filter(fresh)) / (LOOK_AHEAD + BEHIND).total_seconds(),
            _bounded(ended.filter(fresh)) / LATELY.total_seconds(),
        ),
        behind=_bounded(behind),
        late_ms=_lateness(ended, since=now - LATELY, using=using),
    )


def _lateness(ended: QuerySet[Job], *, since: datetime, using: str) -> float | None:
    """How late, in ms, three of four attempts of these jobs began at most."""
    ids = list(ended.order_by("-finished_at").values_list("id", flat=True)[:SAMPLES])
    attempts = Attempt.objects.using(using).filter(job_id__in=ids, started_at__gt=since - LATELY)
    late = sorted(attempts.values_list("lateness_ms", flat=True))
    return float(late[len(late) * 3 // 4]) if late else None


def hindrance_of(biz_type: BizType, *, breaker: Breaker, now: datetime) -> dict[str, Any]:
    """Why no job of the biz type should start now, as the cursor keeps it; {} where nothing hinders.

    Args:
        biz_type: the biz type.
        breaker: that of its receiver.
        now: the time.
    """
    if biz_type.is_closed:
        return {"why": "disabled", "biz_type": biz_type.label}
    if biz_type.is_shut(now=now):
        return {"why": "paused", "biz_type": biz_type.label}
    if breaker.open_until_ms is not None:
        until = moment(breaker.open_until_ms).isoformat()
        return {"why": "breaker", "biz_type": biz_type.label, "until": until}
    return {}


def breaker_of(biz_type: BizType) -> Breaker:
    """The breaker of the biz type's receiver, as Redis has it; a closed one where Redis does not answer."""
    return read_breakers(patient_lane(biz_type.lane), [biz_type]).get(biz_type.queue, CLOSED)


def _bounded(rows: QuerySet[Job]) -> int:
    return rows.order_by()[:MOST_COUNTED].count()


#: "As many as there are": a turn ends by its time.
ALL = 1_000_000_000
#: Time that passed without a turn is made up for, but no more of it than this.
MOST_CREDIT_MS = 2_000.0


@dataclass(frozen=True, slots=True)
class Allowance:
    """How many jobs may go now.

    Args:
        jobs: how many.
        first_at: when the first of them starts, in Unix ms; None where the verb gives them no time.
        step_ms: how much later each of the others starts.
        waits: why there are none, as the cursor keeps it.
    """

    jobs: int
    first_at: float | None = None
    step_ms: float = 0.0
    waits: dict[str, Any] = field(default_factory=dict)

    def times(self, count: int) -> list[float]:
        """When the next so many jobs start, in Unix ms; empty where the verb gives them no time."""
        if self.first_at is None:
            return []
        return [self.first_at + index * self.step_ms for index in range(count)]

    def after(self, count: int) -> Allowance:
        """What is left once so many have gone."""
        first_at = None if self.first_at is None else self.first_at + count * self.step_ms
        return replace(self, jobs=self.jobs - count, first_at=first_at)


def allowance(
    walk: Walk, *, pace: float | None, now_ms: float, due_ms: float | None = None, ahead_ms: float = 0.0
) -> Allowance:
    """How many jobs may go in a turn.

    Args:
        walk: says when the last job went.
        pace: jobs a second; None for as many as there are.
        now_ms: the time.
        due_ms: the new time of rescheduled jobs: they all change now, and start from then on at that pace.
        ahead_ms: jobs that become due go so long before they start; 0: they start nothing.
    """
    step_ms = 1000 / pace if pace else 0.0
    next_at = None if walk.last_at is None else walk.last_at + step_ms
    if due_ms is not None:
        return Allowance(ALL, due_ms if next_at is None else max(due_ms, next_at), step_ms)
    if pace is None:
        return Allowance(ALL)
    earliest = now_ms if ahead_ms else now_ms - MOST_CREDIT_MS
    begin = now_ms if next_at is None else max(earliest, next_at)
    jobs = int((now_ms + ahead_ms - begin) // step_ms) + 1 if begin <= now_ms + ahead_ms else 0
    return Allowance(jobs, begin if ahead_ms else None, step_ms)
