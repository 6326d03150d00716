"""Counts failures of callbacks in a row; opens and heals breakers, and lets the gates follow at once."""

from __future__ import annotations

import logging
import time
from collections import Counter

import redis

from delayhub.clock import moment
from delayhub.engine import TimerLane
from tasksapp.biz_types.breaker import Breaker, Breakers, both_breakers, callback_host, token_host
from tasksapp.biz_types.gates import bring_gates
from tasksapp.biz_types.token_request import COLUMNS
from tasksapp.conf import options
from tasksapp.delivery.access_token import LACK
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
        #: By queue, when its callbacks last failed while its breaker was open, in monotonic seconds; and when they last
        #: lacked an access token, which a callback that wants none does not end.
        self._failed_at: dict[str, float] = {}
        self._lacked_at: dict[str, float] = {}

    def probes(self, queue: str) -> int | None:
        """How many callbacks this process may send by what it has seen itself; None: as many as there are.

        For the time in which Redis is away, where breakers are kept for all processes.
        """
        at = [each[queue] for each in (self._failed_at, self._lacked_at) if queue in each]
        if not at:
            return None
        return 0 if time.monotonic() < max(at) + options().breaker_seconds else 1

    def record(
        self, biz_type: BizType, *, failed: int, succeeded: bool, now_ms: int, no_token: str | None = None
    ) -> bool:
        """Counts the outcomes of some callbacks; True where the breaker is open now.

        Args:
            biz_type: the biz type of the callbacks.
            failed: callbacks that found the receiver down.
            succeeded: whether another callback found it up.
            now_ms: Redis' time.
            no_token: why there is no access token for others; '' where one of them had one. None: they want none, as
                those do that have an ``Authorization`` of their own, and say nothing about the token server.
        """
        pair = biz_type.queue, callback_host(biz_type)
        if not failed and not self._in_a_row[pair] and not succeeded and not no_token:
            return False
        lane = brisk_lane(biz_type.lane)
        breaker, of_token = _read(lane, biz_type)
        if no_token:
            return self._lack(biz_type, of_token, no_token, now_ms=now_ms)
        if no_token is not None or not biz_type.asks_for_token:
            self._lacked_at.pop(biz_type.queue, None)
        if no_token is not None and of_token.open_until_ms is not None and of_token.open_until_ms <= now_ms:
            _heal(lane, biz_type, now_ms=now_ms, of_token=True)
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

    def _lack(self, biz_type: BizType, of_token: Breaker, no_token: str, *, now_ms: int) -> bool:
        """Opens the breaker of its token server with the first failure; whether it is open."""
        current = _row_of(biz_type)
        if current is None or any(getattr(current, name) != getattr(biz_type, name) for name in COLUMNS):
            return False  # with what it has now, there may be a token
        self._lacked_at[biz_type.queue] = time.monotonic()
        if of_token.open_until_ms is None or of_token.open_until_ms <= now_ms:
            _open(brisk_lane(biz_type.lane), current, now_ms=now_ms, no_token=no_token)
        return True


def _read(lane: TimerLane, biz_type: BizType) -> Breakers:
    """Both breakers of the biz type; closed ones where Redis does not answer."""
    try:
        return both_breakers(lane, [biz_type])[biz_type.queue]
    except (redis.RedisError, OSError):
        return Breakers()


def _row_of(biz_type: BizType) -> BizType | None:
    """The biz type as it is stored now, whose limits its gate has; None where it was deleted."""
    return BizType.objects.using(biz_type._state.db).filter(pk=biz_type.pk).first()


def _key_and_host(lane: TimerLane, biz_type: BizType, *, of_token: bool) -> tuple[str, str]:
    """The key of the breaker of its token server or of its receiver, and the host that the key's value names."""
    keys = lane.keys.queue(biz_type.queue)
    return (keys.token_breaker, token_host(biz_type)) if of_token else (keys.breaker, callback_host(biz_type))


def _open(lane: TimerLane, biz_type: BizType, *, now_ms: int, no_token: str = "") -> None:
    pause_ms = int(options().breaker_seconds * 1000)
    breaker = Breaker(open_until_ms=now_ms + pause_ms)

    def act() -> bool:
        key, host = _key_and_host(lane, biz_type, of_token=bool(no_token))
        whose = f"{host} {no_token.removeprefix(LACK)}" if no_token else host
        lane.client.set(key, f"open:{breaker.open_until_ms}:{whose}", px=pause_ms * FORGET_PAUSES)
        bring_gates([biz_type], now=moment(now_ms), lanes=brisk_lane)
        return True

    if tried(act, action="break"):
        extra, why = {"action": "break", "biz_type": biz_type.label}, no_token or "the receiver is down"
        logger.warning("jobs of %s wait: %s; trying again in %d s", biz_type.label, why, pause_ms / 1000, extra=extra)


def _heal(lane: TimerLane, biz_type: BizType, *, now_ms: int, of_token: bool = False) -> None:
    def act() -> bool:
        key, host = _key_and_host(lane, biz_type, of_token=of_token)
        lane.client.set(key, f"healed:{now_ms}:{host}", px=HEALED_MS)
        current = _row_of(biz_type)
        bring_gates([current] if current else [], now=moment(now_ms), lanes=brisk_lane)
        return True

    if tried(act, action="heal"):
        extra = {"action": "heal", "biz_type": biz_type.label}
        what = "there are access tokens for %s again" if of_token else "the receiver of %s is up again"
        logger.info(what, biz_type.label, extra=extra)
