"""The timer lanes, and the clients they are reached with."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import TypeVar

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from delayhub.clock import Clock, SystemClock
from delayhub.engine import EngineOptions, TimerLane
from tasksapp.conf import options
from tasksapp.timers.script_client import BriskRedis

logger = logging.getLogger(__name__)

T = TypeVar("T")

#: After Redis did not answer in time, arming is left to the loader for this long.
REST_SECONDS = 1.0
#: How long the loader and tasks wait for Redis.
PATIENT_SECONDS = 5.0


@dataclass
class _Rest:
    """When Redis may be tried again, in monotonic seconds."""

    until: float = 0.0


_rest = _Rest()
_clock: Clock = SystemClock()


def brisk_lane(name: str) -> TimerLane:
    """The lane, reached by a client that waits for Redis only briefly: for callers that a person waits for."""
    known = options()
    return _lane(name, known.redis_address, known.redis_prefix, known.arm_timeout_seconds, BriskRedis)


def patient_lane(name: str) -> TimerLane:
    """The same lane, reached by a client that waits for seconds: for the loader and for commands."""
    known = options()
    return _lane(name, known.redis_address, known.redis_prefix, PATIENT_SECONDS, redis.Redis)


def patient_lanes() -> list[TimerLane]:
    """All lanes that the options name."""
    return [patient_lane(name) for name in options().lanes]


def client() -> redis.Redis:
    """The patient client itself, for questions about the server."""
    return _client(options().redis_address, PATIENT_SECONDS, redis.Redis)


def tried(call: Callable[[], T], *, action: str) -> T | None:
    """What the call gives back; None where Redis did not answer in time, or did not a moment ago."""
    if _clock.monotonic() < _rest.until:
        return None
    try:
        return call()
    except (redis.RedisError, OSError) as error:
        _rest.until = _clock.monotonic() + REST_SECONDS
        logger.warning("Redis did not answer, going on without it: %s", error, extra={"action": action})
        return None


def try_again() -> None:
    """Ends the rest after a failure; for tests."""
    _rest.until = 0.0


@cache
def _client(address: str, timeout_seconds: float, kind: type[redis.Redis]) -> redis.Redis:
    # Callers can do without Redis, so there is one try; redis-py's own default would be four.
    return kind.from_url(
        address,
        socket_timeout=timeout_seconds,
        socket_connect_timeout=timeout_seconds,
        retry=Retry(NoBackoff(), retries=0),
        protocol=2,
    )


@cache
def _lane(name: str, address: str, prefix: str, timeout_seconds: float, kind: type[redis.Redis]) -> TimerLane:
    return TimerLane(_client(address, timeout_seconds, kind), name, options=EngineOptions(key_prefix=prefix))
