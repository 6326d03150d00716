"""RedisSilence: whether Redis is away, as the process that delivers sees it."""

from __future__ import annotations

import logging
from collections.abc import Callable

from delayhub.clock import Clock

logger = logging.getLogger(__name__)

#: Redis is away when nothing came from it for so long.
SILENT_SECONDS = 2.0
#: It is asked when claims have brought no answer for so long.
ASK_AFTER_SECONDS = 1.0
#: What a Redis that was frozen gave to connections that were gone by then comes back when those leases end: after 30 s,
#: unless the transport's options say otherwise. Until then jobs that are late are still looked for.
AFTERWARDS_SECONDS = 40.0


class RedisSilence:
    """Begins some seconds after the last good answer, and ends when this process has claimed from its lane again.

    That Redis answers a question is not enough to end it: a worker's connections may take ten seconds longer to come
    back, and due jobs would wait for them.

    Args:
        ask: asks Redis anything; whether it answered.
        claimed_at: gives the moment of the last claim that was answered, in monotonic seconds; 0 for never.
        clock: tells the time.
    """

    def __init__(self, *, ask: Callable[[], bool], claimed_at: Callable[[], float], clock: Clock) -> None:
        self._ask = ask
        self._claimed_at = claimed_at
        self._clock = clock
        self._answered_at = clock.monotonic()
        self._since: float | None = None
        self._back_at: float | None = None

    @property
    def is_over(self) -> bool:
        """Whether it ended so short a time ago that jobs may still be late for it."""
        return self._back_at is not None and self._clock.monotonic() < self._back_at + AFTERWARDS_SECONDS

    @property
    def since(self) -> float | None:
        """When it began, in monotonic seconds; None while Redis answers."""
        return self._since

    def look(self) -> bool:
        """Whether Redis is away now. Asks it where no claim of the last second says so."""
        claimed_at, now = self._claimed_at(), self._clock.monotonic()
        if self._since is not None:
            if claimed_at <= self._since:
                return True
            logger.warning("Redis is back after %.0f s", now - self._since, extra={"action": "stand_in"})
            self._since, self._back_at = None, now
        self._answered_at = max(self._answered_at, claimed_at)
        if now - self._answered_at >= ASK_AFTER_SECONDS and self._ask():
            self._answered_at = self._clock.monotonic()
        if self._clock.monotonic() - self._answered_at < SILENT_SECONDS:
            return False
        self._since, self._back_at = self._clock.monotonic(), None
        logger.warning(
            "Redis is away: due jobs are claimed from the database; those of biz types with limits, and those that run"
            " a Celery task, wait until it is back",
            extra={"action": "stand_in"},
        )
        return True
