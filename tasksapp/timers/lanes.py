"""The timer lanes, and the clients they are reached by."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeVar
from weakref import WeakKeyDictionary, WeakSet

import redis
from django.core.signals import setting_changed
from django.dispatch import receiver

from delayhub.clock import Clock, SystemClock
from delayhub.engine import EngineOptions, TimerLane
from delayhub.engine.keys import directory
from delayhub.errors import OptionError
from delayhub.redis_cluster import client_of
from tasksapp.conf import Options, options
from tasksapp.timers.broker import address_of, celery_app, timer_pool, timer_prefix

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


class _Reached:
    """The clients and lanes by one set of options and one Celery app, which decide what server it is."""

    def __init__(self, known: Options) -> None:
        self.options = known
        self.clients: dict[float, redis.Redis] = {}
        self.lanes: dict[tuple[str, float], TimerLane] = {}

    def client(self, timeout_seconds: float) -> redis.Redis:
        """The client that waits for so long."""
        found = self.clients.get(timeout_seconds)
        if found is None:
            found = self.clients.setdefault(timeout_seconds, client_of(timer_pool(timeout_seconds=timeout_seconds)))
        return found

    def lane(self, name: str, timeout_seconds: float) -> TimerLane:
        """The lane, by that client."""
        found = self.lanes.get((name, timeout_seconds))
        if found is None:
            made = TimerLane(self.client(timeout_seconds), name, options=EngineOptions(key_prefix=timer_prefix()))
            found = self.lanes.setdefault((name, timeout_seconds), made)
        return found


#: Lanes that this process has added to the queues that counts and autoscalers look at.
_listed: WeakSet[TimerLane] = WeakSet()
#: By Celery app, or ``_Reached`` where there is none: threads may have different ones. When an app is
#: garbage-collected, its connections are too.
_by_app: WeakKeyDictionary[Any, _Reached] = WeakKeyDictionary()


def _reached() -> _Reached:
    now, app = options(), celery_app() or _Reached
    found = _by_app.get(app)
    # By identity: the hash of all options takes 3 µs, at each create.
    if found is None or found.options is not now:
        found = _by_app[app] = _Reached(now)
    return found


def brisk_lane(name: str) -> TimerLane:
    """The lane, by a client that waits for Redis only briefly: for callers that a person waits for.

    Raises OptionError where the settings do not name one Redis server; all functions here do.
    """
    if _Out.depth:
        return _refusing_lane(name)
    reached = _reached()
    return reached.lane(name, reached.options.arm_timeout_seconds)


def list_once(lane: TimerLane) -> None:
    """Adds a lane to the queues that counts and autoscalers look at, the first time that this process asks.

    A worker adds it too, when it declares its queues; but where no worker has started yet, its timers count most.
    """
    if lane not in _listed:
        lane.client.sadd(directory(timer_prefix()), lane.name)
        _listed.add(lane)


def patient_lane(name: str) -> TimerLane:
    """The same lane, by a client that waits for seconds: for the loader and for commands."""
    return _refusing_lane(name) if _Out.depth else _reached().lane(name, PATIENT_SECONDS)


def patient_lanes() -> list[TimerLane]:
    """All lanes that the options name."""
    return [patient_lane(name) for name in options().lanes]


def watched_lane(name: str) -> TimerLane:
    """The same lane, by a client that waits a second: for what people look at."""
    return _refusing_lane(name) if _Out.depth else _reached().lane(name, BRIEF_SECONDS)


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
    return _refusing_client() if _Out.depth else _reached().client(PATIENT_SECONDS)


def brief_client() -> redis.Redis:
    """A client that waits a second, as ``watched_lane`` has it."""
    return _refusing_client() if _Out.depth else _reached().client(BRIEF_SECONDS)


def timer_server() -> str | None:
    """Server and database of the timers, without credentials; None behind sentinels. Asks no server."""
    return address_of(_reached().client(BRIEF_SECONDS).connection_pool)


def timer_address() -> str:
    """Where the timers are, for people: never with credentials. Raises what :func:`timer_pool` does."""
    place, prefix = timer_server() or "behind sentinels", timer_prefix()
    return f"{place}, keys beginning with {prefix!r}" if prefix else place


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
        logger.warning(
            "a call of Redis failed (%s), and this process makes none for %g s: %s",
            *(action, REST_SECONDS, error),
            extra={"action": action},
        )
        return None
    except OptionError as error:
        _rest.until = _clock.monotonic() + REST_SECONDS
        logger.error("no timer can be set, so no job runs: %s", error, extra={"action": action})  # noqa: TRY400  the sentence says all
        return None


def try_again() -> None:
    """Ends the rest after a failure; for tests."""
    _rest.until = 0.0
    _silence.clear()


@receiver(setting_changed, dispatch_uid="tasksapp.timers.lanes")
def _follow_settings(*, setting: str, **_: Any) -> None:
    if setting.startswith("CELERY_BROKER"):
        _by_app.clear()
        _listed.clear()
