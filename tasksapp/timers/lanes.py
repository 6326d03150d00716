"""The timer lanes, and the clients they are reached by."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple, TypeVar

import redis
from django.core.signals import setting_changed
from django.dispatch import receiver

from delayhub.clock import Clock, SystemClock
from delayhub.engine import EngineOptions, TimerLane
from delayhub.engine.keys import directory
from delayhub.errors import OptionError
from delayhub.redis_cluster import ClusterClient, client_of
from tasksapp.conf import Options, options
from tasksapp.timers.broker import celery_app, timer_pool, timer_prefix

logger = logging.getLogger(__name__)

T = TypeVar("T")

#: After Redis did not answer in time, arming is left to the loader for this long.
REST_SECONDS = 1.0
#: How long the loader and tasks wait for Redis.
PATIENT_SECONDS = 5.0
#: How long pages and health checks wait for Redis.
BRIEF_SECONDS = 1.0
#: After Redis let pages wait in vain, they are told so without asking it, for this long.
SILENT_SECONDS = 3.0


@dataclass
class _Rest:
    """When Redis may be tried again, in monotonic seconds."""

    until: float = 0.0


_rest = _Rest()
#: Until when servers are not asked by pages, by address; '' is the timers' own.
_silence: dict[str, float] = {}
_clock: Clock = SystemClock()


class _Brisk(NamedTuple):
    """A lane of one thread, and the options and the Celery app that it was made by."""

    lane: TimerLane
    options: Options
    app: object


class _Own(threading.local):
    """The calling thread's lanes, by name. Each has one connection and no pool."""

    def __init__(self) -> None:
        self.lanes: dict[str, _Brisk] = {}
        self.listed: set[TimerLane] = set()


_own = _Own()


def _forget() -> None:
    _own.lanes.clear()
    _own.listed.clear()


# A forked child has copies of its parent's connections, which still belong to the parent.
os.register_at_fork(after_in_child=_forget)


def brisk_lane(name: str) -> TimerLane:
    """The lane, by a client that waits for Redis only briefly: for callers that a person waits for.

    It belongs to the calling thread, since it has a single connection: that saves half of what redis-py's pool costs
    (decision 18). It does not connect before the first command.

    Raises OptionError where the settings do not name one Redis server; all functions here do.
    """
    if _Out.depth:
        return _refusing_lane(name)
    now, app = options(), celery_app()
    own = _own.lanes.get(name)
    # By identity: the hash of all options takes 3 µs, at each create.
    if own is None or own.options is not now or own.app is not app:
        single: Any = client_of(timer_pool(timeout_seconds=now.arm_timeout_seconds))
        if not isinstance(single, ClusterClient):  # which has a connection for each node
            # redis-py's single_connection_client=True does the same, but connects at once, and Redis may be away.
            single.connection = single.connection_pool.make_connection()
        lane = TimerLane(single, name, options=EngineOptions(key_prefix=timer_prefix()))
        own = _own.lanes[name] = _Brisk(lane, now, app)
    _drop_stale(own.lane.client.connection)
    return own.lane


def list_once(lane: TimerLane) -> None:
    """Adds a brisk lane to the queues that counts and autoscalers look at, the first time that its thread asks.

    A worker adds it too, when it declares its queues; but where no worker has started yet, its timers count most.
    """
    if lane not in _own.listed:
        lane.client.sadd(directory(timer_prefix()), lane.name)
        _own.listed.add(lane)


def patient_lane(name: str) -> TimerLane:
    """The same lane, by a client that waits for seconds: for the loader and for commands."""
    return _refusing_lane(name) if _Out.depth else _lane(name, options(), celery_app(), PATIENT_SECONDS)


def patient_lanes() -> list[TimerLane]:
    """All lanes that the options name."""
    return [patient_lane(name) for name in options().lanes]


def watched_lane(name: str) -> TimerLane:
    """The same lane, by a client that waits a second: for what people look at."""
    return _refusing_lane(name) if _Out.depth else _lane(name, options(), celery_app(), BRIEF_SECONDS)


def watched(call: Callable[[], T], *, server: str = "") -> T:
    """What the call gives back, which asks a watched lane, or another Redis server.

    A Redis that hangs costs a page a second. So that not every page pays it, Redis is not asked for some seconds then.

    Args:
        call: asks Redis.
        server: the address of the server that it asks; '' for that of the timers.

    Raises what the call raises, and redis-py's TimeoutError while Redis is not asked.
    """
    if _clock.monotonic() < _silence.get(server, 0.0):
        raise redis.TimeoutError("Redis did not answer a moment ago")
    try:
        return call()
    except redis.TimeoutError:
        _silence[server] = _clock.monotonic() + SILENT_SECONDS
        raise


def client() -> redis.Redis:
    """The patient client itself, for questions about the server."""
    return _refusing_client() if _Out.depth else _client(options(), celery_app(), PATIENT_SECONDS)


def brief_client() -> redis.Redis:
    """A client that waits a second, as ``watched_lane`` has it."""
    return _refusing_client() if _Out.depth else _client(options(), celery_app(), BRIEF_SECONDS)


@contextmanager
def without_redis() -> Iterator[None]:
    """While it is open, no command of this process reaches the timers' Redis; for tests."""
    _Out.depth += 1
    try:
        yield
    finally:
        _Out.depth -= 1


def is_kept_out() -> bool:
    """Whether a caller keeps Redis out at this moment."""
    return _Out.depth > 0


class _Out:
    """How many callers keep Redis out at this moment."""

    depth = 0


class _NoConnection(redis.Connection):
    """Refuses before anything is connected."""

    def connect(self) -> None:
        raise redis.ConnectionError("a test keeps the timers' Redis out (delayhub.testing.without_timers)")


@cache
def _refusing_client() -> redis.Redis:
    return redis.Redis(connection_pool=redis.ConnectionPool(connection_class=_NoConnection))


@cache
def _refusing_lane(name: str) -> TimerLane:
    return TimerLane(_refusing_client(), name)


def tried(call: Callable[[], T], *, action: str) -> T | None:
    """What the call gives back; None where Redis did not answer in time, or did not a moment ago."""
    if _Out.depth or _clock.monotonic() < _rest.until:
        return None
    try:
        return call()
    except (redis.RedisError, OSError) as error:
        _rest.until = _clock.monotonic() + REST_SECONDS
        logger.warning("Redis did not answer, going on without it: %s", error, extra={"action": action})
        return None
    except OptionError as error:
        _rest.until = _clock.monotonic() + REST_SECONDS
        logger.error("no timer can be set, so no job runs: %s", error, extra={"action": action})  # noqa: TRY400  the sentence says all
        return None


def try_again() -> None:
    """Ends the rest after a failure; for tests."""
    _rest.until = 0.0
    _silence.clear()


def _drop_stale(connection: Any) -> None:
    """Closes a connection that Redis has closed, or that still holds a reply; the next command connects again.

    A pool checks that too. If the next command found it out, it would be lost, since no command is sent twice.
    """
    if getattr(connection, "_sock", None) is None:  # redis-py 8 has a name for it
        return
    try:
        stale = connection.can_read()
    except (redis.RedisError, OSError):
        stale = True
    if stale:
        connection.disconnect()


@cache
def _client(known: Options, app: object, timeout_seconds: float) -> redis.Redis:
    # The options and the Celery app decide which server it is.
    return client_of(timer_pool(timeout_seconds=timeout_seconds))


@cache
def _lane(name: str, known: Options, app: object, timeout_seconds: float) -> TimerLane:
    return TimerLane(_client(known, app, timeout_seconds), name, options=EngineOptions(key_prefix=timer_prefix()))


@receiver(setting_changed, dispatch_uid="tasksapp.timers.lanes")
def _follow_settings(*, setting: str, **_: Any) -> None:
    if setting.startswith("CELERY_BROKER"):
        _client.cache_clear()
        _lane.cache_clear()
        _forget()
