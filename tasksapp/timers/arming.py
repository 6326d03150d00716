"""The timers of jobs in Redis: hints that the loader can always make again."""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache
from typing import NamedTuple, TypeVar
from uuid import UUID

import redis
from django.utils import timezone
from redis.backoff import NoBackoff
from redis.retry import Retry

from delayhub.engine import Clock, EngineOptions, SystemClock, TimerLane, due_ms
from tasksapp.conf import options
from tasksapp.timers.script_client import BriskRedis

logger = logging.getLogger(__name__)

T = TypeVar("T")
#: (id, due ms) of timers, by lane, queue and priority.
Groups = Mapping[tuple[str, str, int], Sequence[tuple[str, int]]]

#: The creator arms jobs a little beyond the loader's window, so that no commit falls between the two.
WINDOW_MARGIN = timedelta(seconds=30)
#: After Redis did not answer in time, arming is left to the loader for this long.
REST_SECONDS = 1.0


class Timer(NamedTuple):
    """What a job needs in Redis."""

    lane: str
    queue: str
    job_id: UUID
    next_run_at: datetime
    priority: int


@dataclass
class _Rest:
    """When arming may be tried again, in monotonic seconds."""

    until: float = 0.0


_rest = _Rest()
_clock: Clock = SystemClock()


def brisk_lane(name: str) -> TimerLane:
    """The lane in the Redis that the options name; its client waits for Redis only briefly."""
    known = options()
    return _lane(name, known.redis_address, known.redis_prefix, known.arm_timeout_seconds, BriskRedis)


def patient_lane(name: str) -> TimerLane:
    """The same, with a client that waits for seconds: for the loader and for tasks, where nobody waits for us."""
    known = options()
    return _lane(name, known.redis_address, known.redis_prefix, 5.0, redis.Redis)


def client() -> redis.Redis:
    """The patient client itself, for questions about the server."""
    return _client(options().redis_address, 5.0, redis.Redis)


def arm(groups: Groups) -> bool:
    """Ensures those timers that fall into the near window; False where Redis did not answer in time.

    Never raises: a job whose timer is missing is found by the loader.
    """
    end = due_ms(window_end())
    near = {place: [timer for timer in group if timer[1] <= end] for place, group in groups.items()}

    def ensure() -> bool:
        for (lane, queue, step), group in near.items():
            brisk_lane(lane).ensure(queue, group, step=step)
        return True

    return not any(near.values()) or tried(ensure, action="arm") is True


def move(timers: Sequence[Timer]) -> bool:
    """Puts each timer to exactly its time, or takes it away where that is beyond the window; never raises."""
    end = window_end()
    near = grouped(timer for timer in timers if timer.next_run_at <= end)
    far = grouped(timer for timer in timers if timer.next_run_at > end)

    def put() -> bool:
        for (lane, queue, step), group in near.items():
            brisk_lane(lane).put(queue, group, step=step)
        for (lane, queue, _), group in far.items():
            brisk_lane(lane).cancel(queue, [job_id for job_id, _ in group])
        return True

    return tried(put, action="move") is True


def forget(timers: Iterable[Timer]) -> bool:
    """Takes timers away; one that stays fires for nothing. Never raises."""

    def cancel() -> bool:
        for (lane, queue, _), group in grouped(timers).items():
            brisk_lane(lane).cancel(queue, [job_id for job_id, _ in group])
        return True

    return tried(cancel, action="forget") is True


def settle(lane: str, queue: str, ids: Sequence[UUID]) -> None:
    """Frees the slots of ``max_in_flight`` that the jobs held; one that stays ends by itself. Never raises."""
    tried(lambda: brisk_lane(lane).settle(queue, [str(job_id) for job_id in ids]), action="settle")


def window_end() -> datetime:
    """A job that runs until then should have a timer already."""
    return timezone.now() + timedelta(seconds=options().near_window_seconds) + WINDOW_MARGIN


def grouped(timers: Iterable[Timer]) -> dict[tuple[str, str, int], list[tuple[str, int]]]:
    """(id, due ms) by lane, queue and priority: each group is one call."""
    groups: dict[tuple[str, str, int], list[tuple[str, int]]] = defaultdict(list)
    for timer in timers:
        groups[timer.lane, timer.queue, timer.priority].append((str(timer.job_id), due_ms(timer.next_run_at)))
    return groups


def tried(call: Callable[[], T], *, action: str) -> T | None:
    """What the action gives back; None where Redis did not answer in time, or did not just before."""
    if _clock.monotonic() < _rest.until:
        return None
    try:
        return call()
    except (redis.RedisError, OSError) as error:
        _rest.until = _clock.monotonic() + REST_SECONDS
        logger.warning("Redis did not answer, going on without it: %s", error, extra={"action": action})
        return None


@cache
def _client(address: str, timeout_seconds: float, kind: type[redis.Redis]) -> redis.Redis:
    # Whoever arms can do without Redis, so there is one try; redis-py's own default would be four.
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
