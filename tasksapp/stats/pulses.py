"""Pulses, read: how many attempts succeeded and failed, how many jobs died, and how late attempts began.

Minutes are summed into stretches of ten minutes and of an hour, soon after those end, and deleted two days later. A
series takes the longest stretches that fit its steps, and minutes for its newest part.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from django.db.models import Q, QuerySet, Sum
from django.utils import timezone

from tasksapp.models import Pulse
from tasksapp.stats.histogram import quantile_ms

MINUTE, TEN_MINUTES, HOUR = 60, 600, 3_600
#: Minutes and stretches of ten minutes are kept for so long, hours for longer.
FINE_KEPT, HOURS_KEPT = timedelta(days=2), timedelta(days=90)
#: A stretch is summed when it ended so long ago: until then a process may still add to its minutes.
SETTLED = timedelta(minutes=5)
#: A process adds its counts this often; numbers of the last minutes lack half of it on average.
FLUSH_SECONDS = 10.0

_ATTEMPTS = (Pulse.Kind.SUCCEEDED, Pulse.Kind.FAILED)


class PulsePoint(NamedTuple):
    """One step of a series.

    Args:
        at: when it begins.
        succeeded: attempts that succeeded.
        failed: attempts that failed.
        dead: jobs that died.
        lateness_p50_ms: half of the attempts began no later than this; None where none ran.
        lateness_p99_ms: 99 in 100 of them did.
    """

    at: datetime
    succeeded: int = 0
    failed: int = 0
    dead: int = 0
    lateness_p50_ms: int | None = None
    lateness_p99_ms: int | None = None


class PulseSummary(NamedTuple):
    """The last minutes of a biz type, or of all.

    Args:
        done_per_minute: attempts that succeeded, on average.
        failing_share: which share of the attempts failed, 0 to 1; None where there were none.
        lateness_p50_ms: as in :class:`PulsePoint`.
        lateness_p99_ms: the same.
    """

    done_per_minute: float = 0.0
    failing_share: float | None = None
    lateness_p50_ms: int | None = None
    lateness_p99_ms: int | None = None


def read_series(
    *,
    biz_type_id: int | None,
    since: datetime,
    until: datetime,
    step_seconds: int,
    among: Collection[int] | None = None,
) -> list[PulsePoint]:
    """The points of the steps from ``since`` (from the whole minute before it) until ``until``; by one query.

    What is older than two days is known by the hour only: the point in which an hour begins has all of it.

    Args:
        biz_type_id: the biz type; None for all of them.
        since: where the first step begins.
        until: no step begins then or later.
        step_seconds: the length of a step, whole minutes.
        among: only these biz types, by their ids.
    """
    since, step = floor(since, MINUTE), timedelta(seconds=step_seconds)
    tallies: dict[int, Tally] = defaultdict(Tally)
    ranges = [
        _pulses(Q(span_seconds=span, at__gte=begin, at__lt=end), biz_type_id=biz_type_id, among=among)
        .values_list("at", "kind", "key")
        .annotate(Sum("count"))
        for span, begin, end in _stretches(since, until, step_seconds=step_seconds, now=timezone.now())
    ]
    # Each is a range of the index: an OR of them is sometimes planned as a walk over the whole table.
    for at, kind, key, count in ranges[0].union(*ranges[1:], all=True) if ranges else ():
        tallies[(at - since) // step].add(kind, key, count)
    steps = max(0, -((since - until) // step))
    return [tallies[number].point(since + number * step) for number in range(steps)]


def summaries(
    minutes: int = 5, *, among: Collection[int] | None = None
) -> tuple[PulseSummary, dict[int, PulseSummary]]:
    """The last minutes of all biz types together, and by the id of the biz type those that had attempts; by one query.

    Args:
        minutes: how many.
        among: only these biz types, by their ids.
    """
    since, seconds = lately(minutes)
    total, tallies = Tally(), defaultdict[int, Tally](Tally)
    rows = _pulses(Q(span_seconds=MINUTE, at__gte=since), biz_type_id=None, among=among)
    for biz_type_id, kind, key, count in rows.values_list("biz_type_id", "kind", "key").annotate(Sum("count")):
        total.add(kind, key, count)
        tallies[biz_type_id].add(kind, key, count)
    return total.summary(seconds), {biz_type_id: tally.summary(seconds) for biz_type_id, tally in tallies.items()}


@dataclass(slots=True)
class Tally:
    """What some pulses add up to.

    Args:
        counts: jobs and attempts by the kind of pulse, and milliseconds.
        failures: failed attempts by error class.
        lateness: attempts by the bucket of their lateness.
        duration: attempts by the bucket of their duration.
    """

    counts: Counter[str] = field(default_factory=Counter)
    failures: Counter[str] = field(default_factory=Counter)
    lateness: Counter[int] = field(default_factory=Counter)
    duration: Counter[int] = field(default_factory=Counter)

    def add(self, kind: str, key: str, count: int) -> None:
        """Adds a counter."""
        if kind == Pulse.Kind.LATENESS:
            self.lateness[int(key)] += count
        elif kind == Pulse.Kind.DURATION:
            self.duration[int(key)] += count
        else:
            self.counts[kind] += count
            if kind == Pulse.Kind.FAILED:
                self.failures[key] += count

    def point(self, at: datetime) -> PulsePoint:
        """The point of a series."""
        return PulsePoint(
            at,
            self.counts[Pulse.Kind.SUCCEEDED],
            self.counts[Pulse.Kind.FAILED],
            self.counts[Pulse.Kind.DEAD],
            quantile_ms(self.lateness, 0.5),
            quantile_ms(self.lateness, 0.99),
        )

    def summary(self, seconds: float) -> PulseSummary:
        """The summary of so many seconds."""
        attempts = sum(self.counts[kind] for kind in _ATTEMPTS)
        return PulseSummary(
            self.counts[Pulse.Kind.SUCCEEDED] * 60 / seconds,
            self.counts[Pulse.Kind.FAILED] / attempts if attempts else None,
            quantile_ms(self.lateness, 0.5),
            quantile_ms(self.lateness, 0.99),
        )


def _stretches(
    since: datetime, until: datetime, *, step_seconds: int, now: datetime
) -> Iterator[tuple[int, datetime, datetime]]:
    """The lengths of the stretches to read, each with the time for which it is read."""
    fine_since = floor(now - FINE_KEPT, HOUR) + timedelta(seconds=HOUR)
    if since < fine_since:
        yield HOUR, floor(since, HOUR), min(until, fine_since)
        since = min(until, fine_since)
    for span in (HOUR, TEN_MINUTES):
        settled = settled_until(span, now=now)
        if step_seconds % span == 0 and since == floor(since, span) and since < settled:
            yield span, since, min(until, settled)
            since = min(until, settled)
            break
    if since < until:
        yield MINUTE, since, until


def _pulses(stretches: Q, *, biz_type_id: int | None, among: Collection[int] | None = None) -> QuerySet[Pulse]:
    kinds = [*_ATTEMPTS, Pulse.Kind.DEAD, Pulse.Kind.LATENESS]
    rows = Pulse.objects.filter(stretches, kind__in=kinds).order_by()
    if among is not None:
        rows = rows.filter(biz_type_id__in=among)
    return rows if biz_type_id is None else rows.filter(biz_type_id=biz_type_id)


def settled_until(span: int, *, now: datetime) -> datetime:
    """Up to when the stretches of that length are known to be summed."""
    return floor(now - SETTLED, span)


def lately(minutes: int) -> tuple[datetime, float]:
    """Where the last minutes begin, and how many seconds of them the pulses know of."""
    now = timezone.now()
    since = floor(now, MINUTE) - timedelta(minutes=minutes)
    return since, (now - since).total_seconds() - FLUSH_SECONDS / 2


def floor(at: datetime, seconds: int) -> datetime:
    """The beginning of the stretch in which a moment lies."""
    return datetime.fromtimestamp(int(at.timestamp()) // seconds * seconds, tz=UTC)
