"""The gates in Redis: how many of a biz type's due jobs claims may take, by its limits, its pause and its breaker.

They are brought in step with the rows of biz types: at each commit, by the loader, and where none is. A gate says which
state of its row it was made from, and takes nothing older, so it does not matter who writes last. Nobody remembers what
was written: what is there is read, and what differs is written.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from typing import Any

from django.db import transaction
from django.utils import timezone

from delayhub.clock import due_ms, moment
from delayhub.engine import Gate, Revision, StoredGate, TimerLane, read_gates
from tasksapp.biz_types.breaker import CLOSED, Breaker, breakers_of
from tasksapp.conf import options
from tasksapp.models import BizType, PausedKey
from tasksapp.timers.lanes import brisk_lane, is_kept_out, patient_lane, tried
from tasksapp.timers.ramp import ramp_per_second


def gate_of(biz_type: BizType, *, now: datetime, breaker: Breaker = CLOSED) -> Gate:
    """The gate at that time."""
    rate, burst = biz_type.delivery_rate, biz_type.delivery_burst
    ramp = _ramp_per_second(biz_type, now=now, breaker=breaker)
    shut_until = biz_type.shut_until(now)
    if ramp is not None and (rate is None or ramp < rate):
        # A tenth of a second's worth at once: with a burst of 1, a claim would get one job.
        rate, burst = ramp, max(1, int(ramp / 10))
    gate = Gate(
        rate_per_second=rate,
        burst=burst,
        max_in_flight=biz_type.max_in_flight,
        shut_until_ms=0 if shut_until is None else due_ms(shut_until),
        weight=biz_type.weight,
        key_rate_per_second=biz_type.key_rate,
        key_burst=biz_type.key_burst,
        key_max_in_flight=biz_type.key_max_in_flight,
        bonus_ms=round(options().priority_bonus_seconds * 1000),
    )
    return breaker.restrict(gate)


def _ramp_per_second(biz_type: BizType, *, now: datetime, breaker: Breaker) -> float | None:
    """The rate that the ramp allows; None where the ramp is over, or where nothing held jobs back lately."""
    ends = []
    if breaker.healed_ms is not None:
        ends.append(moment(breaker.healed_ms))
    if biz_type.resumed_at is not None:
        # The clock of the process that resumed it may be ahead of ours; the ramp then begins now.
        ends.append(min(biz_type.resumed_at, now))
    if biz_type.paused_until is not None and biz_type.paused_until <= now:
        ends.append(biz_type.paused_until)
    return ramp_per_second((now - max(ends)).total_seconds()) if ends else None


#: How Redis is reached, by the name of a lane.
Lanes = Callable[[str], TimerLane]


def revision_of(biz_type: BizType) -> Revision:
    """Which state of its row the biz type is."""
    return Revision(biz_type.pk, biz_type.revision)


def bring_gates(
    biz_types: Sequence[BizType], *, now: datetime, lanes: Lanes = patient_lane, may_have_paused_keys: bool = True
) -> int:
    """How many gates, and paused flow keys of queues, were written, since they were not as the rows have them.

    Args:
        biz_types: as they are stored at this moment.
        now: Redis' time, by which pauses and ramps end.
        lanes: how Redis is reached.
        may_have_paused_keys: False where a moment ago no flow key was paused.

    Raises RedisError.
    """
    if not biz_types:
        return 0
    by_lane: dict[str, list[BizType]] = defaultdict(list)
    for biz_type in biz_types:
        by_lane[biz_type.timer_lane].append(biz_type)
    # Before the breakers: the gate of one that opens later must not look like an old one.
    found = {name: read_gates(lanes(name), [each.queue for each in group]) for name, group in by_lane.items()}
    breakers, paused = _breakers(biz_types, lanes), dict[int, dict[str, int]]()
    # A key that was paused since that moment is in Redis by now, or the gate is lost with it: it must not be resumed.
    all_stored = [stored for group in found.values() for stored in group]
    if may_have_paused_keys or any(stored.paused or stored.revision is None for stored in all_stored):
        paused = _paused(biz_types, now=now)
    written = 0
    for name, group in by_lane.items():
        lane = lanes(name)
        for biz_type, stored in zip(group, found[name], strict=True):
            gate = gate_of(biz_type, now=now, breaker=breakers.get(biz_type.queue, CLOSED))
            # Keys first: a gate without a revision opens when it gets one.
            changed = _pause(lane, biz_type.queue, wanted=paused.get(biz_type.pk, {}), found=stored.paused)
            written += changed | _write(lane, biz_type, gate, stored)
    return written


def gate_queues(lane: TimerLane, queues: Iterable[str], *, now: datetime, using: str) -> None:
    """Writes the gates of queues that have none, and are shut without one.

    Args:
        lane: their lane.
        queues: their names.
        now: Redis' time.
        using: the database.

    Raises RedisError, and what the database raises.
    """
    asked = set(queues)
    found = list(BizType.objects.using(using).filter(queue_name__in=asked))
    # Also where a biz type has another lane by now: what still waits in this one has its limits.
    bring_gates(found, now=now, lanes=lambda _: lane)
    for queue in asked - {biz_type.queue for biz_type in found}:
        # The biz type was deleted. Its timers find no rows, and go.
        lane.set_gate(queue, Gate())


def is_in_force(biz_type: BizType) -> bool:
    """Whether claims go by this state of the biz type already; False where Redis does not answer."""

    def ask() -> bool:
        (stored,) = read_gates(brisk_lane(biz_type.timer_lane), [biz_type.queue])
        return stored.revision is not None and stored.revision >= revision_of(biz_type)

    return tried(ask, action="gate") is True


def _write(lane: TimerLane, biz_type: BizType, gate: Gate, stored: StoredGate) -> bool:
    """Writes the gate unless it is there; whether it was written."""
    revision = revision_of(biz_type)
    if stored.revision == revision and stored.fields == gate.fields:
        return False
    if lane.set_gate(biz_type.queue, gate, revision=revision):
        return True
    # A newer state was written: after this one was read, or the database was restored from a backup since then. What
    # is stored was read before the row is, and was committed before it was stored.
    latest = BizType.objects.using(biz_type._state.db).filter(pk=biz_type.pk).first()
    if latest is None or stored.revision is None or stored.revision <= revision_of(latest):
        return False
    return lane.set_gate(biz_type.queue, gate, revision=revision, is_latest=True)


def _pause(lane: TimerLane, queue: str, *, wanted: dict[str, int], found: dict[str, int]) -> bool:
    """Pauses flow keys in Redis as the rows have them, and resumes the others; whether any was not so."""
    ended: dict[str, int | None] = dict.fromkeys(found.keys() - wanted.keys())
    changed = {key: until for key, until in wanted.items() if found.get(key) != until}
    if ended or changed:
        lane.pause_keys(queue, {**ended, **changed})
    return bool(ended or changed)


def _paused(biz_types: Sequence[BizType], *, now: datetime) -> dict[int, dict[str, int]]:
    """By biz type: its paused flow keys, and until when."""
    found: dict[int, dict[str, int]] = defaultdict(dict)
    rows = PausedKey.objects.using(biz_types[0]._state.db).filter(until__gt=now)
    if len(biz_types) == 1:
        rows = rows.filter(biz_type_id=biz_types[0].pk)
    for biz_type_id, key, until in rows.values_list("biz_type_id", "flow_key", "until"):
        found[biz_type_id][key] = due_ms(until)
    return found


def _breakers(biz_types: Sequence[BizType], lanes: Lanes) -> dict[str, Breaker]:
    """By queue: the breakers that are open, or were lately."""
    found: dict[str, Breaker] = {}
    for lane in {biz_type.lane for biz_type in biz_types}:
        found |= breakers_of(lanes(lane), [biz_type for biz_type in biz_types if biz_type.lane == lane])
    return found


def follow(biz_type: BizType, *, using: str) -> None:
    """Lets the gate follow as soon as what was changed is committed; without Redis, the loader and workers bring it."""

    # A function, not a partial: Django names a hook that fails by its __qualname__.
    def write_gate() -> None:
        if is_kept_out():
            return
        # Read again: the instance may have other columns as they were before somebody else changed them.
        rows = list(BizType.objects.using(using).filter(pk=biz_type.pk))
        tried(lambda: bring_gates(rows, now=timezone.now(), lanes=brisk_lane), action="gate")

    transaction.on_commit(write_gate, using=using, robust=True)


def follow_row(*, instance: BizType, using: str, **_: Any) -> None:
    """The same after each save of a row: ``tasksapp.apps`` connects it."""
    follow(instance, using=using)
