"""Readiness: whether database and Redis answer and jobs are delivered, asked once a second at most."""

from __future__ import annotations

import logging
from collections.abc import Callable
from threading import Lock
from typing import NamedTuple

import redis
from django.db import DatabaseError, connections, router

from delayhub.clock import SystemClock
from delayhub.errors import OptionError
from tasksapp.models import Job
from tasksapp.stats.delivery_health import DeliveryHealth, DeliveryState, ask_redis, delivery_health

logger = logging.getLogger(__name__)

#: How long what was found out is said again, without another question: anybody may ask.
READY_SECONDS = 1.0


class Found(NamedTuple):
    """What answers.

    Args:
        database: ``ok`` or ``away``.
        redis: the same.
        delivery: ``ok``, or a sentence that says why no job is delivered.
        state: the same in a word or two, for programs: a value of ``DeliveryState``.
    """

    database: str
    redis: str
    delivery: str
    state: str


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
                health = self._delivery() if database == "ok" else _NO_DATABASE
                found = Found(database, server, health.sentence or "ok", health.state.value)
                self._last = self._clock.monotonic() + READY_SECONDS, found
            return self._last[1]

    def forget(self) -> None:
        """Makes the next question ask all of them."""
        self._last = None

    def _delivery(self) -> DeliveryHealth:
        health = _ask_delivery()
        if health.sentence and (self._last is None or self._last[1].delivery != health.sentence):
            logger.warning("%s", health, extra={"action": "readyz"})
        return health


_NO_DATABASE = DeliveryHealth(
    state=DeliveryState.DATABASE_AWAY, sentence="no job is delivered: the database does not answer"
)

readiness = Readiness()


def _outcome(what: str, ask: Callable[[], None]) -> str:
    try:
        ask()
    except (DatabaseError, redis.RedisError, OSError, OptionError) as error:
        logger.warning("the %s does not answer: %s: %s", what, type(error).__name__, error, extra={"action": "readyz"})
        return "away"
    return "ok"


def _ask_database() -> None:
    with connections[router.db_for_write(Job)].cursor() as cursor:
        cursor.execute("SELECT 1")


def _ask_redis() -> None:
    ask_redis()


def _ask_delivery() -> DeliveryHealth:
    return delivery_health()
