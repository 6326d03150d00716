"""The breaker of a biz type and its host: while that receiver is down, the gate is shut and no attempts are used up.

After a number of failures in a row the breaker opens, for all workers. When its pause is over, one job at a time passes
as a probe; the first success heals the breaker, and the rate begins small and rises. Its state is one Redis key that
expires. The key names the host: when the biz type gets another host, it begins with a closed breaker.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from urllib.parse import urlsplit

import redis

from delayhub.engine import Gate, TimerLane
from tasksapp.models import BizType


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


def read_breakers(lane: TimerLane, biz_types: Iterable[BizType]) -> dict[str, Breaker]:
    """By queue, the breakers that are open or were lately, for the hosts that these biz types have now.

    Empty where Redis does not answer.
    """
    try:
        return breakers_of(lane, biz_types)
    except (redis.RedisError, OSError):
        return {}


def breakers_of(lane: TimerLane, biz_types: Iterable[BizType]) -> dict[str, Breaker]:
    """What :func:`read_breakers` gives. Raises RedisError: no answer is no closed breaker where gates are written."""
    asked = list(biz_types)
    if not asked:
        return {}
    values = lane.client.mget([lane.keys.queue(biz_type.queue).breaker for biz_type in asked])
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


def _parse(value: bytes | str) -> tuple[str, Breaker]:
    kind, at, host = (value if isinstance(value, str) else value.decode()).split(":", 2)
    return host, Breaker(open_until_ms=int(at)) if kind == "open" else Breaker(healed_ms=int(at))
