"""The breaker of a biz type and its host: while that receiver is down, the gate is shut and no attempts are used up.

After a number of failures in a row the breaker opens, for all workers. When its pause is over, one job at a time passes
as a probe; the first success heals the breaker, and the rate begins small and rises. Its state is one Redis key that
expires. The key names the host: when the biz type gets another host, it begins with a closed breaker.
"""

from __future__ import annotations

import logging
import time
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

#: The key of an open breaker expires after so many pauses without a probe.
FORGET_PAUSES = 20
#: The key of a healed breaker expires after so long; the ramp is over by then.
HEALED_MS = 60_000


@dataclass(frozen=True, slots=True)
class Breaker:
    """The state of a breaker.

    Args:
        open_until_ms: until then nothing passes, then one job at a time; None where the breaker is closed.
        healed_ms: when a success closed it; None where it was not open lately.
    """

    open_until_ms: int | None = None
    healed_ms: int | None = None

    def restrict(self, gate: Gate) -> Gate:
        """The gate as it is with this breaker."""
        if self.open_until_ms is None:
            return gate
        return replace(gate, max_in_flight=1, shut_until_ms=max(gate.shut_until_ms, self.open_until_ms))


CLOSED = Breaker()


class FailureCounter:
    """Counts failures in a row in this process; opens and heals the breakers of all processes."""

    def __init__(self) -> None:
        self._in_a_row: Counter[tuple[str, str]] = Counter()
        #: By queue, when its callbacks last failed while its breaker was open, in monotonic seconds.
        self._failed_at: dict[str, float] = {}

    def probes(self, queue: str) -> int | None:
        """How many callbacks this process may send by what it has seen itself; None: as many as there are.

        For the time in which Redis is away, where breakers are kept for all processes.
        """
        failed_at = self._failed_at.get(queue)
        if failed_at is None:
            return None
        return 0 if time.monotonic() < failed_at + options().breaker_seconds else 1

    def record(self, biz_type: BizType, gate: Gate, *, failed: int, succeeded: bool, now_ms: int) -> bool:
        """Counts the outcomes of some callbacks; True where the breaker is open now.

        Args:
            biz_type: the biz type of the callbacks.
            gate: its gate without a breaker.
            failed: callbacks that found the receiver down.
            succeeded: whether another callback found it up.
            now_ms: Redis' time.
        """
        pair = biz_type.queue, callback_host(biz_type)
        if not failed and not self._in_a_row[pair] and not succeeded:
            return False
        lane = brisk_lane(biz_type.lane)
        breaker = read_breakers(lane, [biz_type]).get(biz_type.queue, CLOSED)
        if succeeded:
            self._in_a_row.pop(pair, None)
            self._failed_at.pop(biz_type.queue, None)
            if breaker.open_until_ms is not None:
                _heal(lane, biz_type, gate, now_ms=now_ms)
            return False
        self._in_a_row[pair] += failed
        if breaker.open_until_ms is None and self._in_a_row[pair] < options().breaker_failures:
            return False
        if _has_another_host(biz_type):
            del self._in_a_row[pair]
            self._failed_at.pop(biz_type.queue, None)
            return False
        self._failed_at[biz_type.queue] = time.monotonic()
        if breaker.open_until_ms is None or breaker.open_until_ms <= now_ms:
            _open(lane, biz_type, gate, now_ms=now_ms)
        return True


def read_breakers(lane: TimerLane, biz_types: Iterable[BizType]) -> dict[str, Breaker]:
    """By queue, the breakers that are open or were lately, for the hosts that these biz types have now.

    Empty where Redis does not answer.
    """
    asked = list(biz_types)
    if not asked:
        return {}
    try:
        values = lane.client.mget([lane.keys.queue(biz_type.queue).breaker for biz_type in asked])
    except (redis.RedisError, OSError):
        return {}
    found = {}
    for biz_type, value in zip(asked, values, strict=True):
        if value is not None:
            host, breaker = _parse(value)
            if host == callback_host(biz_type):
                found[biz_type.queue] = breaker
    return found


def callback_host(biz_type: BizType) -> str:
    """Host and port of the biz type's callbacks, without credentials; empty for a Celery task."""
    return urlsplit(biz_type.url).netloc.rpartition("@")[2].lower()


def _has_another_host(biz_type: BizType) -> bool:
    """Whether the biz type was deleted, or was given another host than the one that these callbacks went to."""
    current = BizType.objects.using(biz_type._state.db).filter(id=biz_type.id).only("url").first()
    return current is None or callback_host(current) != callback_host(biz_type)


def _open(lane: TimerLane, biz_type: BizType, gate: Gate, *, now_ms: int) -> None:
    pause_ms = int(options().breaker_seconds * 1000)
    breaker = Breaker(open_until_ms=now_ms + pause_ms)

    def act() -> bool:
        key = lane.keys.queue(biz_type.queue).breaker
        lane.client.set(key, f"open:{breaker.open_until_ms}:{callback_host(biz_type)}", px=pause_ms * FORGET_PAUSES)
        lane.set_gate(biz_type.queue, breaker.restrict(gate))
        return True

    if tried(act, action="break"):
        extra = {"action": "break", "biz_type": biz_type.label}
        logger.warning("the receiver of %s is down, trying again in %d s", biz_type.label, pause_ms / 1000, extra=extra)


def _heal(lane: TimerLane, biz_type: BizType, gate: Gate, *, now_ms: int) -> None:
    def act() -> bool:
        key = lane.keys.queue(biz_type.queue).breaker
        lane.client.set(key, f"healed:{now_ms}:{callback_host(biz_type)}", px=HEALED_MS)
        lane.set_gate(biz_type.queue, gate)
        return True

    if tried(act, action="heal"):
        extra = {"action": "heal", "biz_type": biz_type.label}
        logger.info("the receiver of %s is up again", biz_type.label, extra=extra)


def _parse(value: bytes | str) -> tuple[str, Breaker]:
    kind, at, host = (value if isinstance(value, str) else value.decode()).split(":", 2)
    return host, Breaker(open_until_ms=int(at)) if kind == "open" else Breaker(healed_ms=int(at))
