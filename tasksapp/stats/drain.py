"""Drain: when the waiting jobs of a biz type will be done, as it is or with other limits, and which peaks lie ahead."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from enum import Enum
from typing import Final, NamedTuple

from django.utils import timezone

from tasksapp.models import UNTIL_RESUMED, BizType
from tasksapp.stats.backlog import Busy, Pace, busy_times
from tasksapp.stats.capacity import Capacity, Limit, Measured, capacity_of, key_per_second, measure
from tasksapp.stats.counts import BizTypeCounts, Counts, read_counts
from tasksapp.stats.drain_sentences import (
    done_at,
    done_between,
    done_by_keys,
    held_back,
    no_job_waits,
    not_within_a_day,
    peak_ahead,
)
from tasksapp.stats.upcoming import Arrivals, read_arrivals
from tasksapp.stats.written import number
from tasksapp.timers.ramp import ramp_paces

#: A forecast looks no further: what comes later is not counted.
HORIZON = timedelta(hours=24)
#: A forecast promises ± 5 % where so few attempts fail, and its pace is known.
FEW_FAIL, PROMISED = 0.01, 0.05
#: Else a drain takes so many times as long, or so short: where a limit decides, and where the workers' cores do. Of ten
#: drains without a limit, beside other work, eight ended within a width of 2.2 that was told at their start; the others
#: took 0.43 and 2.8 times as long. 1.2 held none of five.
KNOWN_WIDTH, WORKERS_WIDTH = 1.2, 3.0
#: The last outcomes are written together, a while after the last job ran.
LAST_OUTCOMES = timedelta(seconds=2)
#: Jobs wait at every peak for a moment; shorter waits are none that a person need know of.
LEAST_WAIT_SECONDS = 5.0


class _AsItIs(Enum):
    VALUE = "as it is"


#: The limit that the biz type has.
AS_IT_IS: Final = _AsItIs.VALUE


class Drain(NamedTuple):
    """When the jobs that wait are done.

    Args:
        empty_at: when none waits any more; None where that is not within a day, or is not known.
        earliest: no sooner than that; None where it is not known.
        latest: no later than that; None where it may never be.
        peak_lateness_seconds: how late the latest of them begins, at most.
        capacity_per_second: how many are done a second.
        limited_by: what keeps that from being more.
        sentence: all that, for people.
    """

    empty_at: datetime | None
    earliest: datetime | None
    latest: datetime | None
    peak_lateness_seconds: float
    capacity_per_second: float
    limited_by: Limit
    sentence: str


class Peak(NamedTuple):
    """Jobs ahead that come faster than they can be done.

    Args:
        biz_type: their biz type.
        at: when the first of them is due.
        jobs: how many they are.
        capacity_per_second: how many are done a second.
        limited_by: what keeps that from being more.
        done_at: when the last of them is done; None where that is not within a day.
        late_seconds: how late the latest of them begins.
        sentence: all that, for people.
    """

    biz_type: BizType
    at: datetime
    jobs: int
    capacity_per_second: float
    limited_by: Limit
    done_at: datetime | None
    late_seconds: float
    sentence: str


class Known(NamedTuple):
    """What forecasts of one biz type are made from, read once for several of them.

    Args:
        counts: its jobs.
        measured: what its pulses say.
        arrivals: its jobs of the next day.
    """

    counts: Counts
    measured: Measured
    arrivals: list[Arrivals]


def read_known(biz_type: BizType) -> Known:
    """What is known of the biz type at this moment; four queries."""
    return Known(
        read_counts(biz_type_id=biz_type.id),
        measure([biz_type])[biz_type.id],
        read_arrivals(biz_type_ids=[biz_type.id]).get(biz_type.id, []),
    )


def forecast(
    biz_type: BizType,
    *,
    now: datetime | None = None,
    delivery_rate: float | _AsItIs | None = AS_IT_IS,
    max_in_flight: int | _AsItIs | None = AS_IT_IS,
    known: Known | None = None,
) -> Drain:
    """When the jobs of the biz type that wait will be done.

    Args:
        biz_type: the biz type.
        now: the present; None for what the clock says.
        delivery_rate: another limit of attempts a second, to see what it would do; None for no limit.
        max_in_flight: another limit of attempts under way.
        known: what :func:`read_known` has read; None to read it now.
    """
    now = now or timezone.now()
    counts, measured, arrivals = known or read_known(biz_type)
    capacity = capacity_of(
        biz_type,
        measured,
        delivery_rate=biz_type.delivery_rate if delivery_rate is AS_IT_IS else delivery_rate,
        max_in_flight=biz_type.max_in_flight if max_in_flight is AS_IT_IS else max_in_flight,
    )
    start = min(now, counts.as_of or now)
    own = counts.of(biz_type.id)
    if own.due_now == 0:
        return _nothing_waits(capacity, now=now)
    if _waits_for_people(biz_type, now=now):
        return _shut(biz_type, capacity, own, now=now, bound=counts.bound)
    paces = _paces(biz_type, capacity, start=start, now=now)
    (first, *_rest) = busy_times(
        # Those that run have to end too: a dispatcher takes thousands ahead.
        start=start,
        waiting=own.due_now + own.running,
        arrivals=arrivals,
        paces=paces,
        until=start + HORIZON,
    )
    drain = _drain(first, capacity, measured, own, start=start, bound=counts.bound)
    return _drain_by_keys(drain, biz_type, measured, own, start=start, bound=counts.bound) if drain.empty_at else drain


def ahead(*, now: datetime | None = None, biz_type_id: int | None = None) -> list[Peak]:
    """The peaks of the next day at which jobs wait for longer than a moment, the first one first; four queries.

    Args:
        now: the present; None for what the clock says.
        biz_type_id: only those of this biz type.
    """
    now = now or timezone.now()
    arrivals = read_arrivals(biz_type_ids=None if biz_type_id is None else [biz_type_id])
    biz_types = list(BizType.objects.select_related("tenant").filter(id__in=arrivals))
    measured = measure(biz_types)
    found: list[Peak] = []
    for biz_type in biz_types:
        capacity = capacity_of(
            biz_type,
            measured[biz_type.id],
            delivery_rate=biz_type.delivery_rate,
            max_in_flight=biz_type.max_in_flight,
        )
        found += peaks_of(biz_type, capacity, arrivals[biz_type.id], waiting=0, now=now)
    return sorted(found, key=lambda peak: peak.at)


def peaks_with(
    biz_type: BizType,
    *,
    known: Known,
    now: datetime,
    delivery_rate: float | None,
    max_in_flight: int | None,
) -> list[Peak]:
    """The peaks of the next day of one biz type, as they would be with those limits; what waits now is among them.

    Args:
        biz_type: the biz type.
        known: what was read of it.
        now: the present.
        delivery_rate: the limit of attempts a second; None for no limit.
        max_in_flight: the limit of attempts under way.
    """
    capacity = capacity_of(biz_type, known.measured, delivery_rate=delivery_rate, max_in_flight=max_in_flight)
    own = known.counts.of(biz_type.id)
    return peaks_of(biz_type, capacity, known.arrivals, waiting=own.due_now + own.running, now=now)


def peaks_of(
    biz_type: BizType, capacity: Capacity, arrivals: Sequence[Arrivals], *, waiting: int, now: datetime
) -> list[Peak]:
    """The peaks of the next day of one biz type, of which so many jobs are done a second and so many wait already."""
    if _waits_for_people(biz_type, now=now):
        return []
    paces = _paces(biz_type, capacity, start=now, now=now)
    return [
        Peak(
            biz_type,
            busy.begins,
            round(busy.jobs),
            capacity.per_second,
            capacity.limited_by,
            busy.ends,
            busy.wait_seconds,
            peak_ahead(busy, capacity, biz_type=biz_type.label, has_key_limits=biz_type.has_key_limits),
        )
        for busy in busy_times(start=now, waiting=waiting, arrivals=arrivals, paces=paces, until=now + HORIZON)
        if busy.wait_seconds >= LEAST_WAIT_SECONDS
    ]


def _waits_for_people(biz_type: BizType, *, now: datetime) -> bool:
    """Whether none of its jobs may run until somebody resumes or enables it."""
    shut_until = biz_type.shut_until(now)
    return shut_until is not None and shut_until >= UNTIL_RESUMED


def _paces(biz_type: BizType, capacity: Capacity, *, start: datetime, now: datetime) -> list[Pace]:
    """How fast jobs are done from ``start`` on: not at all while the biz type is shut, then as the ramp allows."""
    opens = biz_type.shut_until(now)
    paces = [Pace(start, capacity.per_second)] if opens is None else [Pace(start, 0.0)]
    ended = [at for at in (biz_type.resumed_at, biz_type.paused_until) if at is not None and at <= now]
    resumed = opens or max(ended, default=None)
    if resumed is None:
        return paces
    steps = [Pace(resumed + timedelta(seconds=after), rate) for after, rate in ramp_paces(capacity.per_second)]
    held = [pace for pace in steps if pace.since > start]
    under_way = [pace for pace in steps if pace.since <= start][-1:]
    if opens is None and under_way:
        paces = [Pace(start, under_way[0].per_second)]
    return [*paces, *held]


def _drain(
    busy: Busy, capacity: Capacity, measured: Measured, counts: BizTypeCounts, *, start: datetime, bound: int | None
) -> Drain:
    oldest = counts.oldest_due_at or start
    peak = max(0.0, (start - oldest).total_seconds()) + busy.wait_seconds
    jobs = number(counts.due_now, bound=bound)
    if busy.ends is None:
        sentence = not_within_a_day(jobs, capacity)
        return Drain(None, None, None, peak, capacity.per_second, capacity.limited_by, sentence)
    took = busy.ends - start
    # What workers can do changes with all else that their machines do.
    is_steady = capacity.is_known and capacity.limited_by != Limit.WORKERS
    is_sure = is_steady and measured.failing_share < FEW_FAIL and bound is None
    if is_sure:
        earliest, latest = start + took * (1 - PROMISED), start + took * (1 + PROMISED)
        sentence = done_at(jobs, busy.ends, capacity)
    else:
        # What fails comes again, and a pace that was not measured may be twice or half of the guess.
        wide = KNOWN_WIDTH if capacity.is_known and capacity.limited_by != Limit.WORKERS else WORKERS_WIDTH
        again = 1 / max(0.05, 1 - measured.failing_share)
        earliest, latest = start + took / wide, start + took * wide * again + LAST_OUTCOMES
        sentence = done_between(jobs, earliest, latest, capacity)
    return Drain(busy.ends, earliest, latest, peak, capacity.per_second, capacity.limited_by, sentence)


def _drain_by_keys(
    drain: Drain, biz_type: BizType, measured: Measured, counts: BizTypeCounts, *, start: datetime, bound: int | None
) -> Drain:
    """The drain where each flow key has a limit: no sooner than without it, no later than if all jobs had one key.

    How the jobs that are due spread over keys is not counted: no index says it.
    """
    of_one = key_per_second(biz_type, measured)
    if of_one is None or drain.latest is None:
        return drain
    waiting, again = counts.due_now + counts.running, 1 / max(0.05, 1 - measured.failing_share)
    seconds = waiting / of_one * again
    latest = None
    if seconds < HORIZON.total_seconds() and bound is None:
        latest = max(drain.latest, start + timedelta(seconds=seconds))
        if latest == drain.latest:
            return drain  # a key may have all that the biz type may
    capacity = Capacity(drain.capacity_per_second, drain.limited_by, False)
    sentence = done_by_keys(number(counts.due_now, bound=bound), drain.earliest or start, latest, capacity)
    return drain._replace(empty_at=None, latest=latest, sentence=sentence)


def _nothing_waits(capacity: Capacity, *, now: datetime) -> Drain:
    return Drain(now, now, now, 0.0, capacity.per_second, capacity.limited_by, no_job_waits(capacity))


def _shut(biz_type: BizType, capacity: Capacity, counts: BizTypeCounts, *, now: datetime, bound: int | None) -> Drain:
    sentence = held_back(number(counts.due_now, bound=bound), is_enabled=biz_type.enabled)
    late = max(0.0, (now - (counts.oldest_due_at or now)).total_seconds())
    return Drain(None, None, None, late, capacity.per_second, capacity.limited_by, sentence)
