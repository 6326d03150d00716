"""Capacity: how many jobs of a biz type can be delivered a second, and what limits that."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import NamedTuple

from django.db.models import Sum
from django.utils import timezone

from tasksapp.conf import options
from tasksapp.models import BizType, Pulse
from tasksapp.stats.pulses import MINUTE

#: What was measured so long ago still counts.
REMEMBERED = timedelta(hours=24)
#: How long attempts take, and how many fail, is that of so long.
RECENT = timedelta(hours=1)
#: The newest seconds of draining that are looked at, of all biz types together.
DRAIN_ROWS = 2_000
#: A drain whose last known second is not older goes on: processes write every ten seconds.
UNDER_WAY = timedelta(seconds=25)
#: Seconds without an attempt do not end a drain, if they are few.
GAP = timedelta(seconds=3)
#: A measured pace needs so many whole seconds.
LEAST_SECONDS = 3
#: Of a long drain, its last minute counts.
MOST_SECONDS = 60
#: Between the end of one callback and the beginning of the next in its slot: outcomes are written together, the slot is
#: freed, and the next timer and its row are claimed. Where it was not measured.
USUAL_GAP_SECONDS = 0.03
#: A slot's turn is steady where it is at most so many times what the receiver takes.
MOST_TURNS = 1.3
#: A rate is kept to on a busy machine too, if its burst is so many seconds' worth.
LEAST_BURST_SECONDS = 0.25
#: A limit of which less than this share was reached, while jobs waited, is not what limits the pace.
LEAST_REACHED = 0.8
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
        is_known: whether that follows from a limit or was measured, and is steady; else it is a guess.
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
    drains: Mapping[int, Mapping[datetime, int]] = field(default_factory=dict)

    @property
    def latency_seconds(self) -> float | None:
        """What an attempt takes on average, at the receiver; None where none was made."""
        return self.busy_seconds / self.attempts if self.attempts else None

    @property
    def failing_share(self) -> float:
        """Which share of the attempts failed."""
        return self.failed / self.attempts if self.attempts else 0.0


def measure(biz_types: Iterable[BizType]) -> dict[int, Measured]:
    """What is known of the biz types' attempts, by their ids, each with the drains of all; two queries."""
    now = timezone.now()
    rows = Pulse.objects.filter(span_seconds=MINUTE).order_by()
    drains: dict[int, Counter[datetime]] = defaultdict(Counter)
    late = rows.filter(at__gte=now - REMEMBERED, kind=Pulse.Kind.DRAIN).order_by("-at")
    for biz_type_id, at, second, count in late.values_list("biz_type_id", "at", "key", "count")[:DRAIN_ROWS]:
        drains[biz_type_id][at + timedelta(seconds=int(second))] += count
    found = {biz_type.id: Measured(drains=drains) for biz_type in biz_types}
    kinds = [Pulse.Kind.SUCCEEDED, Pulse.Kind.FAILED, Pulse.Kind.BUSY, Pulse.Kind.HELD]
    recent = rows.filter(biz_type__in=list(found), at__gte=now - RECENT, kind__in=kinds)
    for biz_type_id, kind, count in recent.values_list("biz_type_id", "kind").annotate(Sum("count")):
        own = found[biz_type_id]
        if kind == Pulse.Kind.BUSY:
            own.busy_seconds += count / 1000
        elif kind == Pulse.Kind.HELD:
            own.held_seconds += count / 1000
        else:
            own.attempts += count
            own.failed += count if kind == Pulse.Kind.FAILED else 0
    return found


def capacity_of(
    biz_type: BizType, measured: Measured, *, delivery_rate: float | None, max_in_flight: int | None
) -> Capacity:
    """The most jobs of the biz type a second with those limits.

    Args:
        biz_type: the biz type as it is.
        measured: what its pulses say.
        delivery_rate: its limit of attempts a second; None for no limit.
        max_in_flight: its limit of attempts under way; None for no limit.
    """
    own = _own_pace(biz_type, measured)
    as_it_is = (delivery_rate, max_in_flight) == (biz_type.delivery_rate, biz_type.max_in_flight)
    workers = _workers_per_second(biz_type, measured, own)
    limits = [workers]
    if delivery_rate is not None:
        # With a small burst, permits are lost that a busy machine claims more than a tenth of a second late.
        is_reached = biz_type.delivery_burst >= delivery_rate * LEAST_BURST_SECONDS
        limits.append(Capacity(delivery_rate, Limit.RATE, is_reached))
    if max_in_flight is not None:
        limits.append(_slots_per_second(biz_type, measured, own, max_in_flight=max_in_flight))
    least = min(limits, key=lambda each: each.per_second)
    if as_it_is and own is not None and own < least.per_second * 1.2:
        # What was seen under the same limits is better than what follows from them; but a rate is never exceeded.
        own = min(own, least.per_second) if least.limited_by == Limit.RATE else own
        if own < least.per_second * LEAST_REACHED:
            # Jobs waited, and the limit would have let more through.
            return Capacity(own, Limit.WORKERS, True)
        return Capacity(own, least.limited_by, least.is_known)
    return least


def key_per_second(biz_type: BizType, measured: Measured) -> float | None:
    """The most jobs a second of one flow key; None where keys have no limit. Those in order run one at a time."""
    paces: list[float] = []
    if biz_type.key_rate is not None:
        paces.append(biz_type.key_rate)
    if most := 1 if biz_type.is_ordered else biz_type.key_max_in_flight:
        latency = measured.latency_seconds
        paces.append(most / ((0.1 if latency is None else latency) + USUAL_GAP_SECONDS))
    return min(paces, default=None)


def drained_per_second(seconds: Mapping[datetime, int], *, now: datetime) -> float | None:
    """The pace of the drain that is under way, or of the fastest one; None where none took a few seconds.

    A drain is a run of seconds in which attempts began late. The first and the last second are left out, since they are
    not whole.

    Args:
        seconds: how many late attempts each second had.
        now: the present.
    """
    paces: list[float] = []
    for run in _runs(sorted(seconds, reverse=True)):
        # Of a long drain its last minute counts.
        newest = [at for at in run[1:] if run[0] - at <= timedelta(seconds=MOST_SECONDS + 1)]
        if not newest:
            continue
        whole = (run[0] - newest[-1]).total_seconds() - 1
        if whole >= LEAST_SECONDS:
            paces.append(sum(seconds[at] for at in newest[:-1]) / whole)
            if now - run[0] <= UNDER_WAY:
                return paces[-1]
    return max(paces, default=None)


def _runs(newest_first: Iterable[datetime]) -> Iterator[list[datetime]]:
    """Seconds that follow each other, with no longer gap than a slow drain has."""
    run: list[datetime] = []
    for at in newest_first:
        if run and run[-1] - at > GAP:
            yield run
            run = []
        run.append(at)
    if run:
        yield run


def _own_pace(biz_type: BizType, measured: Measured) -> float | None:
    """How fast its jobs were drained; where it has limits, since they were set."""
    seconds: Mapping[datetime, int] = measured.drains.get(biz_type.id, {})
    if biz_type.delivery_rate is not None or biz_type.max_in_flight is not None:
        seconds = {at: count for at, count in seconds.items() if at >= biz_type.updated_at}
    return drained_per_second(seconds, now=timezone.now())


def _slots_per_second(biz_type: BizType, measured: Measured, own: float | None, *, max_in_flight: int) -> Capacity:
    """Slots, by the time that a job holds one."""
    latency = measured.latency_seconds
    if latency is None:
        return Capacity(max_in_flight / (0.1 + USUAL_GAP_SECONDS), Limit.SLOTS, False)
    turn = latency + USUAL_GAP_SECONDS
    if biz_type.max_in_flight is not None:
        # Then no job waits in a dispatcher: what is not the receiver's is the time of the claim and of the outcome.
        turn = max(turn, measured.held_seconds / measured.attempts)
    if own is not None and biz_type.max_in_flight is not None:
        seen = biz_type.max_in_flight / own
        rate = biz_type.delivery_rate
        if latency <= seen <= 2 * turn and (rate is None or own < 0.9 * rate):
            turn = seen
    # The receiver's part is steady; the rest is the machine's, and varies with its other work.
    return Capacity(max_in_flight / turn, Limit.SLOTS, turn <= latency * MOST_TURNS)


def _workers_per_second(biz_type: BizType, measured: Measured, own: float | None) -> Capacity:
    """What the workers can do: as fast as any drain was, and not more than the dispatchers may have open."""
    now = timezone.now()
    paces = (drained_per_second(drain, now=now) for drain in measured.drains.values())
    best = max((pace for pace in paces if pace is not None), default=None)
    known = options()
    latency = measured.latency_seconds or 0.01
    slots = min(known.dispatcher_concurrency, known.biz_type_concurrency, known.host_concurrency)
    caps = slots / (latency + USUAL_GAP_SECONDS)
    free = biz_type.delivery_rate is None and biz_type.max_in_flight is None
    if free and own is not None:
        return Capacity(own, Limit.WORKERS, True)
    if best is None:
        return Capacity(min(USUAL_WORKER_PER_SECOND, caps), Limit.UNKNOWN, False)
    return Capacity(min(max(best, USUAL_WORKER_PER_SECOND), caps), Limit.WORKERS, False)
