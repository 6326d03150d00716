"""What load balancers ask: is the process alive, and can it serve?"""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import cache
from threading import Lock
from typing import NamedTuple

import redis
from django.conf import settings
from django.db import DatabaseError, connection
from django.http import HttpRequest, JsonResponse

from delayhub.clock import SystemClock
from delayhub.errors import OptionError
from delayhub.redis_url import redis_url

logger = logging.getLogger(__name__)

#: How long what was found out is said again, without another question: anybody may ask.
READY_SECONDS = 1.0
_TIMEOUT_SECONDS = 1.0


def healthz(request: HttpRequest) -> JsonResponse:
    """200 as long as the process answers; touches nothing else."""
    return JsonResponse({"status": "ok"})


def readyz(request: HttpRequest) -> JsonResponse:
    """200 when the database answers, else 503.

    Redis is reported but does not take the process out of service: jobs are created without it, and
    the loader arms them when it is back. Both are asked once a second at most. What failed is in the log.
    """
    found = readiness.found()
    return JsonResponse(found._asdict(), status=200 if found.database == "ok" else 503)


class Found(NamedTuple):
    """What answers: ``ok`` or ``away``."""

    database: str
    redis: str


class Readiness:
    """Whether database and Redis answer, asked once a second at most."""

    def __init__(self) -> None:
        self._clock = SystemClock()
        self._lock = Lock()
        self._last: tuple[float, Found] | None = None

    def found(self) -> Found:
        """What answers now, or did within the last second."""
        with self._lock:
            if self._last is None or self._clock.monotonic() > self._last[0]:
                found = Found(_outcome("database", _ask_database), _outcome("Redis", _ask_redis))
                self._last = self._clock.monotonic() + READY_SECONDS, found
            return self._last[1]

    def forget(self) -> None:
        """Makes the next question ask both."""
        self._last = None


readiness = Readiness()


def _outcome(what: str, ask: Callable[[], None]) -> str:
    try:
        ask()
    except (DatabaseError, redis.RedisError, OSError, OptionError) as error:
        logger.warning("the %s does not answer: %s: %s", what, type(error).__name__, error, extra={"action": "readyz"})
        return "away"
    return "ok"


def _ask_database() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")


def _ask_redis() -> None:
    _redis(settings.BROKER_URL).ping()


@cache
def _redis(broker_url: str) -> redis.Redis:
    return redis.Redis.from_url(
        redis_url(broker_url), socket_timeout=_TIMEOUT_SECONDS, socket_connect_timeout=_TIMEOUT_SECONDS, protocol=2
    )
