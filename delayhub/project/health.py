"""What load balancers ask: is the process alive, and can it serve?"""

from __future__ import annotations

import logging
from collections.abc import Callable
from threading import Lock
from typing import Any, NamedTuple

import redis
from django.db import DatabaseError, connection
from django.http import HttpRequest, JsonResponse
from django.utils.module_loading import import_string

from delayhub.clock import SystemClock
from delayhub.errors import OptionError

logger = logging.getLogger(__name__)

#: How long what was found out is said again, without another question: anybody may ask.
READY_SECONDS = 1.0

#: The app is named by dotted string only.
_DELIVERY = "tasksapp.stats.delivery_health"


def healthz(request: HttpRequest) -> JsonResponse:
    """200 as long as the process answers; touches nothing else."""
    return JsonResponse({"status": "ok"})


def readyz(request: HttpRequest) -> JsonResponse:
    """200 when the database answers, else 503.

    Redis and delivery are reported but do not take the process out of service: jobs are created without them, and
    delivered when they are back. All are asked once a second at most. Addresses and error texts are in the log only.
    """
    found = readiness.found()
    return JsonResponse(found._asdict(), status=200 if found.database == "ok" else 503)


class Found(NamedTuple):
    """What answers: ``ok`` or ``away``; and ``ok``, or a sentence that says why no job is delivered."""

    database: str
    redis: str
    delivery: str


class Readiness:
    """Whether database and Redis answer and jobs are delivered, asked once a second at most."""

    def __init__(self) -> None:
        self._clock = SystemClock()
        self._lock = Lock()
        self._last: tuple[float, Found] | None = None

    def found(self) -> Found:
        """What answers now, or did within the last second."""
        with self._lock:
            if self._last is None or self._clock.monotonic() > self._last[0]:
                database, server = _outcome("database", _ask_database), _outcome("Redis", _ask_redis)
                # Not asked again where it may take long not to answer.
                delivery = self._delivery() if database == "ok" else "no job is delivered: the database does not answer"
                found = Found(database, server, delivery)
                self._last = self._clock.monotonic() + READY_SECONDS, found
            return self._last[1]

    def forget(self) -> None:
        """Makes the next question ask all of them."""
        self._last = None

    def _delivery(self) -> str:
        health = _ask_delivery()
        if health.sentence and (self._last is None or self._last[1].delivery != health.sentence):
            logger.warning("%s", health, extra={"action": "readyz"})
        return health.sentence or "ok"


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
    import_string(f"{_DELIVERY}.ask_redis")()


def _ask_delivery() -> Any:
    return import_string(f"{_DELIVERY}.delivery_health")()
