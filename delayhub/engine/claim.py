"""The claim of messages: its command and its reply, without any I/O, for callers with a connection of their own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any, NamedTuple

from delayhub.engine.entry import Claimed, text
from delayhub.engine.keys import LaneKeys
from delayhub.engine.options import EngineOptions
from delayhub.engine.scripts import script

#: Bounds of one claim, so that it never keeps Redis busy for long (and Lua's ``unpack`` takes 8 000 values at most).
MAX_CLAIM = 1000
MAX_ACKNOWLEDGEMENTS = 1000

NONE: tuple[bytes, ...] = ()


@dataclass(slots=True)
class ClaimedQueue:
    """A queue that a claim takes from, and the acknowledgements that travel along.

    Args:
        lane: the lane's name.
        queue: the queue's name.
        no_ack: entries are deleted as they are claimed.
        acknowledged: (id, token) of earlier entries that are done, at most 1 000 over all queues.
    """

    lane: str
    queue: str
    no_ack: bool = False
    acknowledged: Sequence[tuple[str, int]] = field(default_factory=list)


class QueueClaim(NamedTuple):
    """What one queue gave. ``position`` is its place in the claim's list of queues."""

    position: int
    token: int
    entries: list[Claimed]


class Limits(IntEnum):
    """What a claim found of limits in its queues."""

    NONE = 0
    """No task has one."""
    IN_FORCE = 1
    """A task has one."""
    HELD = 2
    """And a message that its limit lets start waits for a free process."""


class Claim(NamedTuple):
    """A claim's reply.

    ``now_us``: Redis' time in µs.
    ``come_back_ms``: when the next entry is due or the next lease runs out, None where nothing waits.
    ``more``: something was ready beyond the limit. ``holds_alarm``: this consumer is the one to wake at
    ``come_back_ms``; any other comes some ms later. ``limits``: whether tasks of these queues have any; ``reopens_ms``:
    when the next limit lets a parked message start.
    """

    now_us: int
    come_back_ms: int | None
    more: bool
    holds_alarm: bool
    acknowledged: int
    queues: list[QueueClaim]
    limits: Limits
    reopens_ms: int | None

    @property
    def now_ms(self) -> int:
        """Redis' time in ms, rounded down."""
        return self.now_us // 1000

    @property
    def entries(self) -> list[Claimed]:
        """All entries, queue by queue."""
        return [entry for queue in self.queues for entry in queue.entries]


def claim_command(
    queues: Sequence[ClaimedQueue], *, limit: int, consumer: str, options: EngineOptions, free: int | None = None
) -> tuple[Any, ...]:
    """The command that claims up to ``limit`` due messages of the queues, in their order; 0: it only acknowledges.

    Of tasks with a limit it claims up to ``free`` messages, also beyond ``limit``; as many as that by default.
    """
    keys: list[str] = []
    args: list[Any] = [
        consumer,
        options.lease_ms,
        min(limit, MAX_CLAIM),
        min(limit if free is None else free, MAX_CLAIM),
        options.max_claim_bytes,
        options.max_strikes,
    ]
    for queue in queues:
        lane = LaneKeys(queue.lane, options.key_prefix)
        keys += [lane.base, lane.queue(queue.queue).base]
        args += [1 if queue.no_ack else 0, len(queue.acknowledged)]
        for entry_id, token in queue.acknowledged:
            args += [entry_id, token]
    return script("claim").command(keys, args)


def parse_claim(reply: Sequence[Any]) -> Claim:
    """The reply of :func:`claim_command` as a value."""
    now, come_back, more, alarm, acknowledged, claimed, limits, reopens = reply
    queues = []
    for index, token, flat, struck, revoked, found in claimed:
        limited, counted = found or (NONE, NONE)
        strikes = dict(zip(struck[::2], struck[1::2], strict=True)) if struck else {}
        entries = [
            Claimed(
                text(entry_id),
                payload,
                int(strikes.get(entry_id, 0)),
                token,
                bool(revoked) and entry_id in revoked,
                entry_id in strikes,
                bool(limited) and entry_id in limited,
                bool(counted) and entry_id in counted,
            )
            for entry_id, payload in zip(flat[::2], flat[1::2], strict=True)
        ]
        queues.append(QueueClaim(index - 1, token, entries))
    come_back_ms = None if come_back < 0 else come_back
    reopens_ms = None if reopens < 0 else reopens
    return Claim(now, come_back_ms, bool(more), bool(alarm), acknowledged, queues, Limits(limits), reopens_ms)
