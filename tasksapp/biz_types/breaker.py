"""The breaker of a biz type and its host: while that receiver is down the gate is shut, and no attempts are wasted.

After failures in a row it opens for all workers. When its time is over one job at a time is let through as a probe;
the first success heals it, and the rate begins small and rises. Its state is one Redis key that ends by itself, and
that names the host: a biz type whose address is given another host begins with a closed breaker.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from urllib.parse import urlsplit

import redis

from delayhub.engine import Gate, TimerLane
from tasksapp.conf import options
from tasksapp.models import BizType
from tasksapp.timers.lanes import brisk_lane, tried

logger = logging.getLogger(__name__)

#: An open state that nobody touches any more is forgotten after so many of its pauses.
FORGET_PAUSES = 20


@dataclass(frozen=True, slots=True)
class Breaker:
    """The breaker as it is.

    Args:
        open_until_ms: nothing passes before, then one at a time; None where it is closed.
        healed_ms: since when it is closed again; None where it was not open lately.
    """

    open_until_ms: int | None = None
    healed_ms: int | None = None

    def restrict(self, gate: Gate) -> Gate:
        """The gate as it is while the breaker is open."""
        if self.open_until_ms is None:
            return gate
        return replace(gate, max_in_flight=1, shut_until_ms=max(gate.shut_until_ms, self.open_until_ms))


CLOSED = Breaker()


class Failures:
    """Counts failures in a row in this process, and opens and heals breakers for all."""

    def __init__(self) -> None:
        self._in_a_row: Counter[tuple[str, str]] = Counter()

    def note(self, biz_type: BizType, gate: Gate, *, failed: int, succeeded: bool, now_ms: int) -> bool:
        """Takes what came of some callbacks; whether the breaker is open now.

        Args:
            biz_type: theirs.
            gate: as it would be without a breaker.
            failed: callbacks that found their receiver down.
            succeeded: whether another found it up.
            now_ms: Redis' time.
        """
        pair = biz_type.code, host_of(biz_type)
        if not failed and not self._in_a_row[pair] and not succeeded:
            return False
        lane = brisk_lane(biz_type.lane)
        breaker = read_breakers(lane, [biz_type]).get(biz_type.code, CLOSED)
        if succeeded:
            self._in_a_row.pop(pair, None)
            if breaker.open_until_ms is not None:
                _heal(lane, biz_type, gate, now_ms=now_ms)
            return False
        self._in_a_row[pair] += failed
        if breaker.open_until_ms is None and self._in_a_row[pair] < options().breaker_failures:
            return False
        if _has_moved(biz_type):
            del self._in_a_row[pair]
            return False
        if breaker.open_until_ms is None or breaker.open_until_ms <= now_ms:
            _open(lane, biz_type, gate, now_ms=now_ms)
        return True


def read_breakers(lane: TimerLane, biz_types: Iterable[BizType]) -> dict[str, Breaker]:
    """By code: the breakers that are open, or were lately, for the hosts these biz types have now.

    None where Redis does not answer.
    """
    asked = list(biz_types)
    if not asked:
        return {}
    try:
        values = lane.client.mget([lane.keys.queue(biz_type.code).breaker for biz_type in asked])
    except (redis.RedisError, OSError):
        return {}
    found = {}
    for biz_type, value in zip(asked, values, strict=True):
        if value is not None:
            host, breaker = _parse(value)
            if host == host_of(biz_type):
                found[biz_type.code] = breaker
    return found


def host_of(biz_type: BizType) -> str:
    """Host and port of its callbacks, without credentials; empty for a Celery task."""
    return urlsplit(biz_type.url).netloc.rpartition("@")[2].lower()


def _has_moved(biz_type: BizType) -> bool:
    """Whether it has another host by now than the one that these callbacks went to."""
    current = BizType.objects.using(biz_type._state.db).filter(id=biz_type.id).only("url").first()
    return current is None or host_of(current) != host_of(biz_type)


def _open(lane: TimerLane, biz_type: BizType, gate: Gate, *, now_ms: int) -> None:
    pause_ms = int(options().breaker_seconds * 1000)
    breaker = Breaker(open_until_ms=now_ms + pause_ms)

    def act() -> bool:
        key = lane.keys.queue(biz_type.code).breaker
        lane.client.set(key, f"open:{breaker.open_until_ms}:{host_of(biz_type)}", px=pause_ms * FORGET_PAUSES)
        lane.set_gate(biz_type.code, breaker.restrict(gate))
        return True

    if tried(act, action="break"):
        extra = {"action": "break", "biz_type": biz_type.code}
        logger.warning("the receiver of %s is down, trying again in %d s", biz_type.code, pause_ms / 1000, extra=extra)


def _heal(lane: TimerLane, biz_type: BizType, gate: Gate, *, now_ms: int) -> None:
    def act() -> bool:
        lane.client.set(lane.keys.queue(biz_type.code).breaker, f"healed:{now_ms}:{host_of(biz_type)}", px=60_000)
        lane.set_gate(biz_type.code, gate)
        return True

    if tried(act, action="heal"):
        extra = {"action": "heal", "biz_type": biz_type.code}
        logger.info("the receiver of %s is up again", biz_type.code, extra=extra)


def _parse(value: bytes | str) -> tuple[str, Breaker]:
    kind, at, host = (value if isinstance(value, str) else value.decode()).split(":", 2)
    return host, Breaker(open_until_ms=int(at)) if kind == "open" else Breaker(healed_ms=int(at))
