"""The breaker of a biz type and its host: while that receiver is down, the gate is shut and no attempts are used up.

After a number of failures in a row the breaker opens, for all workers. When its pause is over, one job at a time passes
as a probe; the first success heals the breaker, and the rate begins small and rises. Its state is one Redis key that
expires. The key names the host: when the biz type gets another host, it begins with a closed breaker.

A biz type that asks a token server for access tokens has another breaker for that, which opens with the first failure.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import NamedTuple
from urllib.parse import urlsplit

import redis

from delayhub.engine import Gate, TimerLane
from delayhub.engine.entry import text
from tasksapp.models import BizType


@dataclass(frozen=True, slots=True)
class Breaker:
    """The state of a breaker.

    Args:
        open_until_ms: until then nothing passes, then one job at a time; None where the breaker is closed.
        healed_ms: when a success closed it; None where it was not open lately.
        no_token: which token server gave none and why, where it is open for that; '' where the receiver is down.
    """

    open_until_ms: int | None = None
    healed_ms: int | None = None
    no_token: str = ""

    def restrict(self, gate: Gate) -> Gate:
        """The gate as it is with this breaker."""
        if self.open_until_ms is None:
            return gate
        return replace(gate, max_in_flight=1, shut_until_ms=max(gate.shut_until_ms, self.open_until_ms))


CLOSED = Breaker()


class Breakers(NamedTuple):
    """The two breakers of a biz type: of its receiver, and of the token server where it asks for access tokens."""

    receiver: Breaker = CLOSED
    token: Breaker = CLOSED

    @property
    def joint(self) -> Breaker:
        """What both come to: the one that opens later, or the last that was healed."""
        later = max(self, key=lambda breaker: breaker.open_until_ms or 0)
        return later if later.open_until_ms is not None else max(self, key=lambda breaker: breaker.healed_ms or 0)


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
    return {queue: joint for queue, each in both_breakers(lane, biz_types).items() if (joint := each.joint) != CLOSED}


def both_breakers(lane: TimerLane, biz_types: Iterable[BizType]) -> dict[str, Breakers]:
    """By queue, both breakers of each biz type; one question. Raises RedisError."""
    asked = list(biz_types)
    keys: list[str] = []
    for biz_type in asked:
        key = lane.keys.queue(biz_type.queue)
        keys += [key.breaker, key.token_breaker] if biz_type.asks_for_token else [key.breaker]
    values = iter(lane.client.mget(keys) if keys else ())
    return {
        biz_type.queue: Breakers(
            _parse(next(values), callback_host(biz_type)),
            _parse(next(values), token_host(biz_type)) if biz_type.asks_for_token else CLOSED,
        )
        for biz_type in asked
    }


def callback_host(biz_type: BizType) -> str:
    """Host and port of the biz type's callbacks, without credentials; empty for a Celery task."""
    return urlsplit(biz_type.url).netloc.rpartition("@")[2].lower()


def token_host(biz_type: BizType) -> str:
    """Host and port of the token server that it asks; empty where it asks none."""
    return urlsplit(biz_type.token_url).netloc.lower()


def _parse(value: bytes | str | None, host: str) -> Breaker:
    """The breaker that a key holds; a closed one where it is of another host than the biz type has now."""
    if value is None:
        return CLOSED
    kind, at, rest = text(value).split(":", 2)
    of, _, no_token = rest.partition(" ")
    if of != host:
        return CLOSED
    return Breaker(open_until_ms=int(at), no_token=no_token) if kind == "open" else Breaker(healed_ms=int(at))
