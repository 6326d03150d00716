"""Counts failures of callbacks in a row; opens and heals breakers, and lets the gates follow at once."""

from __future__ import annotations

import logging
import time
from collections import Counter

from delayhub.clock import moment
from delayhub.engine import TimerLane
from tasksapp.biz_types.breaker import CLOSED, Breaker, callback_host, read_breakers
from tasksapp.biz_types.gates import bring_gates
from tasksapp.conf import options
from tasksapp.models import BizType
from tasksapp.timers.lanes import brisk_lane, tried

logger = logging.getLogger(__name__)

#: The key of an open breaker expires after so many pauses without a probe.
FORGET_PAUSES = 20
#: The key of a healed breaker expires after so long; the ramp is over by then.
HEALED_MS = 60_000


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

    def record(self, biz_type: BizType, *, failed: int, succeeded: bool, now_ms: int) -> bool:
        """Counts the outcomes of some callbacks; True where the breaker is open now.

        Args:
            biz_type: the biz type of the callbacks.
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
                _heal(lane, biz_type, now_ms=now_ms)
            return False
        self._in_a_row[pair] += failed
        if breaker.open_until_ms is None and self._in_a_row[pair] < options().breaker_failures:
            return False
        current = _row_of(biz_type)
        if current is None or callback_host(current) != callback_host(biz_type):
            del self._in_a_row[pair]
            self._failed_at.pop(biz_type.queue, None)
            return False
        self._failed_at[biz_type.queue] = time.monotonic()
        if breaker.open_until_ms is None or breaker.open_until_ms <= now_ms:
            _open(lane, current, now_ms=now_ms)
        return True


def _row_of(biz_type: BizType) -> BizType | None:
    """The biz type as it is stored now, whose limits its gate has; None where it was deleted."""
    return BizType.objects.using(biz_type._state.db).filter(pk=biz_type.pk).first()


def _open(lane: TimerLane, biz_type: BizType, *, now_ms: int) -> None:
    pause_ms = int(options().breaker_seconds * 1000)
    breaker = Breaker(open_until_ms=now_ms + pause_ms)

    def act() -> bool:
        key = lane.keys.queue(biz_type.queue).breaker
        lane.client.set(key, f"open:{breaker.open_until_ms}:{callback_host(biz_type)}", px=pause_ms * FORGET_PAUSES)
        bring_gates([biz_type], now=moment(now_ms), lanes=brisk_lane)
        return True

    if tried(act, action="break"):
        extra = {"action": "break", "biz_type": biz_type.label}
        logger.warning("the receiver of %s is down, trying again in %d s", biz_type.label, pause_ms / 1000, extra=extra)


def _heal(lane: TimerLane, biz_type: BizType, *, now_ms: int) -> None:
    def act() -> bool:
        key = lane.keys.queue(biz_type.queue).breaker
        lane.client.set(key, f"healed:{now_ms}:{callback_host(biz_type)}", px=HEALED_MS)
        current = _row_of(biz_type)
        bring_gates([current] if current else [], now=moment(now_ms), lanes=brisk_lane)
        return True

    if tried(act, action="heal"):
        extra = {"action": "heal", "biz_type": biz_type.label}
        logger.info("the receiver of %s is up again", biz_type.label, extra=extra)
