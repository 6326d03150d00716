"""Capacity: how many jobs of a biz type can be delivered a second, and what limits that."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import NamedTuple

from django.utils import timezone

from tasksapp.conf import options
from tasksapp.models import BizType, Pulse
from tasksapp.stats.pulses import MINUTE

#: What was measured so long ago still counts.
REMEMBERED = timedelta(hours=24)
#: The newest seconds of draining that are looked at.
DRAIN_ROWS = 600
#: A measured pace needs so many whole seconds.
LEAST_SECONDS = 3
#: Of a long drain, its last minute counts.
MOST_SECONDS = 60
#: Between the end of one callback and the beginning of the next in its slot: outcomes are written together, the slot is
#: freed, and the next timer and its row are claimed. Where it was not measured.
USUAL_GAP_SECONDS = 0.03
#: Where nothing was measured yet: what a worker on one core does.
USUAL_WORKER_PER_SECOND = 1_500.0


class Limit(StrEnum):
    """What limits the pace."""

    RATE = "rate"
    SLOTS = "slots"
    WORKERS = "workers"
    UNKNOWN = "unknown"


class Capacity(NamedTuple):
    """The most jobs a second.

    Args:
        per_second: how many.
        limited_by: what keeps it from being more.
        is_known: whether that was measured or is a limit that a person set; else it is a guess.
    """

    per_second: float
    limited_by: Limit
    is_known: bool


@dataclass(slots=True)
class Measured:
    """What pulses say about a biz type.

    Args:
        attempts: recent attempts.
        failed: those of them that failed.
        busy_seconds: what they took all together, at the receiver.
        held_seconds: the same from the claim to the written outcome.
        drains: by the id of the biz type, how many late attempts each second had.
    """

    attempts: int = 0
    failed: int = 0
    busy_seconds: float = 0.0
    held_seconds: float = 0.0
    drains: dict[int, Counter[datetime]] = field(default_factory=lambda: defaultdict(Counter))

    @property
    def latency_seconds(self) -> float | None:
        """What an attempt takes on average, at the receiver; None where none was made."""
        return self.busy_seconds / self.attempts if self.attempts else None

    @property
    def failing_share(self) -> float:
        """Which share of the attempts failed."""
        return self.failed / self.attempts if self.attempts else 0.0


def measure(biz_type: BizType, *, minutes: int = 60, using: str | None = None) -> Measured:
    """What is known of the biz type's attempts, and of the drains of all biz types; two queries."""
    now = timezone.now()
    found = Measured()
    kinds = [Pulse.Kind.SUCCEEDED, Pulse.Kind.FAILED, Pulse.Kind.BUSY, Pulse.Kind.HELD]
    rows = Pulse.objects.using(using).filter(span_seconds=MINUTE).order_by()
    recent = rows.filter(biz_type=biz_type, at__gte=now - timedelta(minutes=minutes), kind__in=kinds)
    for kind, count in recent.values_list("kind", "count"):
        match kind:
            case Pulse.Kind.BUSY:
                found.busy_seconds += count / 1000
            case Pulse.Kind.HELD:
                found.held_seconds += count / 1000
            case _:
                found.attempts += count
                found.failed += count if kind == Pulse.Kind.FAILED else 0
    late = rows.filter(at__gte=now - REMEMBERED, kind=Pulse.Kind.DRAIN).order_by("-at")
    for biz_type_id, at, second, count in late.values_list("biz_type_id", "at", "key", "count")[:DRAIN_ROWS]:
        found.drains[biz_type_id][at + timedelta(seconds=int(second))] += count
    return found


def capacity_of(
    biz_type: BizType, measured: Measured, *, delivery_rate: float | None, max_in_flight: int | None, processes: int = 1
) -> Capacity:
    """The most jobs of the biz type a second with those limits.

    Args:
        biz_type: the biz type as it is.
        measured: what its pulses say.
        delivery_rate: its limit of attempts a second; None for no limit.
        max_in_flight: its limit of attempts under way; None for no limit.
        processes: processes that deliver.
    """
    own = drained_per_second(measured.drains.get(biz_type.id, Counter()))
    as_it_is = (delivery_rate, max_in_flight) == (biz_type.delivery_rate, biz_type.max_in_flight)
    workers = _workers_per_second(biz_type, measured, own, processes=processes)
    limits = [workers]
    if delivery_rate is not None:
        limits.append(Capacity(delivery_rate, Limit.RATE, True))
    if max_in_flight is not None:
        limits.append(_slots_per_second(biz_type, measured, own, max_in_flight=max_in_flight))
    least = min(limits, key=lambda each: each.per_second)
    if as_it_is and own is not None and own < least.per_second * 1.2:
        # What was seen under the same limits is better than what follows from them.
        return Capacity(own, least.limited_by, True)
    return least


def drained_per_second(seconds: Counter[datetime]) -> float | None:
    """The pace of the newest run of seconds in which attempts began late; None where there is no run of a few seconds.

    The first and the last second of a run are left out, since they are not whole.
    """
    run: list[datetime] = []
    for at in sorted(seconds, reverse=True):
        if run and run[-1] - at > timedelta(seconds=1):
            if len(run) - 2 >= LEAST_SECONDS:
                break
            run = []
        run.append(at)
    whole = run[1:-1][:MOST_SECONDS]
    return sum(seconds[at] for at in whole) / len(whole) if len(whole) >= LEAST_SECONDS else None


def _slots_per_second(biz_type: BizType, measured: Measured, own: float | None, *, max_in_flight: int) -> Capacity:
    """Slots, by the time that a job holds one."""
    latency = measured.latency_seconds
    if latency is None:
        return Capacity(max_in_flight / (0.1 + USUAL_GAP_SECONDS), Limit.SLOTS, False)
    turn = latency + USUAL_GAP_SECONDS
    if own is not None and biz_type.max_in_flight is not None:
        seen = biz_type.max_in_flight / own
        rate = biz_type.delivery_rate
        if latency <= seen <= 2 * turn and (rate is None or own < 0.9 * rate):
            turn = seen
    return Capacity(max_in_flight / turn, Limit.SLOTS, True)


def _workers_per_second(biz_type: BizType, measured: Measured, own: float | None, *, processes: int) -> Capacity:
    """What the workers can do: as fast as any drain was, and not more than the dispatchers may have open."""
    best = max(_paces(measured), default=None)
    known = options()
    latency = measured.latency_seconds or 0.01
    slots = min(known.dispatcher_concurrency, known.biz_type_concurrency, known.host_concurrency) * processes
    caps = slots / (latency + USUAL_GAP_SECONDS)
    free = biz_type.delivery_rate is None and biz_type.max_in_flight is None
    if free and own is not None:
        return Capacity(own, Limit.WORKERS, True)
    if best is None:
        return Capacity(min(USUAL_WORKER_PER_SECOND * processes, caps), Limit.UNKNOWN, False)
    return Capacity(min(max(best, USUAL_WORKER_PER_SECOND * processes), caps), Limit.WORKERS, False)


def _paces(measured: Measured) -> Iterable[float]:
    return (pace for drain in measured.drains.values() if (pace := drained_per_second(drain)) is not None)
