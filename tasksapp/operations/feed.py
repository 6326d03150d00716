"""Feed: how many jobs a second an operation may let start beside the fresh jobs of the same biz type.

The engine takes due jobs in the order of their times; a priority decides only within one millisecond. So a fresh job
that becomes due behind ten thousand redriven ones waits for all of them. The feed keeps that from happening: it lets no
more jobs become due than what the limits of the biz type leave free beside the fresh ones, and it looks again in each
turn (decision 27).
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db.models import Q, QuerySet

from delayhub.clock import moment
from tasksapp.biz_types.breaker import CLOSED, Breaker, read_breakers
from tasksapp.biz_types.gate import gate_of
from tasksapp.models import BizType, Job, Operation, Status
from tasksapp.operations.cursor import Walk
from tasksapp.timers.lanes import patient_lane

#: A turn lets only such jobs go as start so soon; a stop and another pace act that fast.
LOOK_AHEAD = timedelta(seconds=2)
#: How much of a rate is used up, fresh jobs included. At the whole of it the fresh ones would stand in line.
SHARE = 0.85
#: How much of the slots may be in use for the feed to grow.
SLOTS_SHARE = 0.7
#: A job that is due for so long and still waits shows that the receiver or the workers do not keep up.
BEHIND = timedelta(milliseconds=500)
#: How many such jobs are taken for nothing: a claim or a flush may be under way.
TOLERATED = 5
#: Fresh jobs that ended in the last seconds stand for those that will come without being known before.
LATELY = timedelta(seconds=5)
#: Jobs that ended by an attempt; what was called off used no slot and no permit.
_TRIED = (Status.SUCCEEDED, Status.DEAD)
#: Rows that a count looks at.
MOST_COUNTED = 10_000
#: Where no limit says how much can be done, it begins with so many a second, and grows while nothing is late.
FIRST, GROWTH, SHRINK, LEAST = 200.0, 1.5, 0.5, 1.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Demand:
    """What the biz type has to do at this moment.

    Args:
        fresh_per_second: jobs that are none of the operation's.
        behind: jobs that should have run by now, and wait.
        running: jobs that run.
    """

    fresh_per_second: float
    behind: int
    running: int


def feed_of(walk: Walk, biz_type: BizType, demand: Demand, *, breaker: Breaker, now: datetime) -> float:
    """Jobs a second that may start now; 0 for none. What was learned is left in the walk.

    Args:
        walk: with the feed of the turn before.
        biz_type: with its limits.
        demand: what it has to do beside.
        breaker: that of its receiver.
        now: the time.
    """
    gate = gate_of(biz_type, now=now, breaker=breaker)
    behind = max(0, demand.behind - TOLERATED)
    free: float | None = None
    if gate.rate_per_second is not None:
        # What is behind is worked off within a second first.
        free = max(0.0, gate.rate_per_second * SHARE - demand.fresh_per_second - behind)
    learned = walk.feed
    if learned is None:
        learned = FIRST if gate.max_in_flight is None else float(gate.max_in_flight)
    elif behind or (gate.max_in_flight is not None and demand.running > gate.max_in_flight * SLOTS_SHARE):
        learned *= SHRINK if behind else 0.8
    else:
        learned *= GROWTH
    if free is not None and gate.max_in_flight is None:
        # The rate says all; what was learned must not hold it down for longer than the lateness lasts.
        learned = free
    walk.feed = max(LEAST, min(learned, float(MOST_COUNTED)))
    return walk.feed if free is None else min(walk.feed, free)


def demand_of(operation: Operation, biz_type: BizType, *, now: datetime, using: str) -> Demand:
    """What the biz type has to do beside the operation, by counts that indexes serve.

    Args:
        operation: the operation, whose own jobs are no fresh ones.
        biz_type: the biz type.
        now: the time.
        using: the database.
    """
    jobs = Job.objects.using(using)
    pending = jobs.filter(biz_type_id=biz_type.id, status=Status.PENDING)
    behind = pending.filter(next_run_at__lte=now - BEHIND)
    coming = pending.filter(next_run_at__gt=now - BEHIND, next_run_at__lte=now + LOOK_AHEAD)
    ended = jobs.filter(biz_type_id=biz_type.id, finished_at__gt=now - LATELY, status__in=_TRIED)
    fresh = Q(operation_id=None) | ~Q(operation_id=operation.pk)
    running = 0
    if biz_type.max_in_flight is not None:
        running = _bounded(jobs.filter(status=Status.RUNNING, biz_type_id=biz_type.id))
    return Demand(
        fresh_per_second=max(
            _bounded(coming.filter(fresh)) / (LOOK_AHEAD + BEHIND).total_seconds(),
            _bounded(ended.filter(fresh)) / LATELY.total_seconds(),
        ),
        behind=_bounded(behind),
        running=running,
    )


def hindrance_of(biz_type: BizType, *, breaker: Breaker, now: datetime) -> dict[str, Any]:
    """Why no job of the biz type should start now, as the cursor keeps it; {} where nothing hinders.

    Args:
        biz_type: the biz type.
        breaker: that of its receiver.
        now: the time.
    """
    if not biz_type.enabled:
        return {"why": "disabled", "biz_type": biz_type.code}
    if biz_type.is_shut(now=now):
        return {"why": "paused", "biz_type": biz_type.code}
    if breaker.open_until_ms is not None:
        until = moment(breaker.open_until_ms).isoformat()
        return {"why": "breaker", "biz_type": biz_type.code, "until": until}
    return {}


def breaker_of(biz_type: BizType) -> Breaker:
    """The breaker of the biz type's receiver, as Redis has it; a closed one where Redis does not answer."""
    return read_breakers(patient_lane(biz_type.lane), [biz_type]).get(biz_type.code, CLOSED)


def _bounded(rows: QuerySet[Job]) -> int:
    return rows.order_by()[:MOST_COUNTED].count()
