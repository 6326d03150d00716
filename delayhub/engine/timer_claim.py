"""Claims of a lane's timers: the command, and its reply as a value."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from delayhub.engine.entry import Lease, text
from delayhub.engine.keys import LaneKeys
from delayhub.engine.options import EngineOptions
from delayhub.engine.scripts import script

#: Timers that one claim takes at most, and acknowledgements that travel with it.
MAX_CLAIM = 1000


class TimerBatch(NamedTuple):
    """Due timers of one queue.

    ``strikes`` names those whose leases ran out before, and how often. ``keys``: how many
    flow keys they have; 0 where flow keys do not share the queue.
    """

    queue: str
    token: int
    ids: list[str]
    strikes: dict[str, int]
    keys: int = 0


class TimerClaim(NamedTuple):
    """A claim's reply; its fields are those of :class:`delayhub.engine.claim.Claim`, with batches for queues."""

    now_us: int
    come_back_ms: int | None
    more: bool
    holds_alarm: bool
    acknowledged: int
    batches: list[TimerBatch]
    #: Queues that are shut until they get a gate that has a revision.
    ungated: list[str]

    @property
    def now_ms(self) -> int:
        """Redis' time in ms, rounded down."""
        return self.now_us // 1000


def by_queue(leases: Iterable[Lease]) -> dict[str, list[Lease]]:
    """Leases by the queue they belong to."""
    groups: dict[str, list[Lease]] = defaultdict(list)
    for lease in leases:
        groups[lease.queue].append(lease)
    return groups


def timer_claim_command(
    lane: str,
    *,
    limit: int,
    keyed_limit: int = MAX_CLAIM,
    key_limit: int = MAX_CLAIM,
    consumer: str,
    options: EngineOptions,
    acknowledged: Iterable[Lease] = (),
    needs_gates: bool = False,
) -> tuple[Any, ...]:
    """The command that claims due timers of a lane; for callers with a connection of their own.

    ``keyed_limit``: how many of them may be of queues with flow keys. ``key_limit``: how many of one flow key.
    ``needs_gates``: whether queues are shut whose gate has no revision.
    """
    args: list[Any] = [consumer, options.lease_ms, int(options.slot_seconds * 1000), min(limit, MAX_CLAIM), keyed_limit]
    args += [key_limit, int(needs_gates)]
    for queue, held in by_queue(acknowledged).items():
        args += [queue, len(held)]
        for lease in held:
            args += [lease.id, lease.token]
    return script("claim_timers").command([LaneKeys(lane, options.key_prefix).base], args)


def parse_timer_claim(reply: Sequence[Any]) -> TimerClaim:
    """The reply of :func:`timer_claim_command` as a value."""
    now, come_back, more, alarm, acknowledged, claimed, ungated = reply
    batches = [
        TimerBatch(
            text(queue),
            token,
            [text(found) for found in ids],
            {text(found): int(count) for found, count in zip(struck[::2], struck[1::2], strict=True)},
            keys,
        )
        for queue, token, ids, struck, keys in claimed
    ]
    come_back_ms = None if come_back < 0 else come_back
    return TimerClaim(
        now, come_back_ms, bool(more), bool(alarm), acknowledged, batches, [text(queue) for queue in ungated]
    )
