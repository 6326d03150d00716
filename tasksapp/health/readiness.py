"""Readiness: whether database and Redis answer and jobs are delivered, asked once a second at most."""

from __future__ import annotations

import logging
from collections.abc import Callable
from concurrent.futures import Future
from concurrent.futures import TimeoutError as NotDone
from threading import Lock
from typing import NamedTuple

from django.db import DatabaseError, connections, router

from delayhub.clock import SystemClock
from delayhub.descriptors import has_descriptors
from tasksapp.errors import AWAY
from tasksapp.health.lock_waits import give_way_to_pooler
from tasksapp.models import Job
from tasksapp.sql.driver.own_thread import OwnThread
from tasksapp.stats.database_lock import lock_on_jobs
from tasksapp.stats.delivery_health import DeliveryHealth, DeliveryState, delivery_health, waits_for
from tasksapp.stats.timer_server import ask_redis

logger = logging.getLogger(__name__)

#: How long what was found out is said again, without another question: anybody may ask.
READY_SECONDS = 1.0
#: How long a probe waits for what is asked; load balancers wait a second or more.
PATIENCE_SECONDS = 0.7


class Found(NamedTuple):
    """What answers.

    Args:
        database: ``ok``, ``away``, or ``locked`` where it answers but keeps the table of jobs locked. ``full``,
            ``read-only`` or ``standby`` where it answers but takes no writes.
        redis: ``ok`` or ``away``.
        descriptors: ``ok``, or ``none left`` where this process can open no more files and sockets; then it ends soon.
        delivery: ``ok``, or a sentence that says why no job is delivered.
        state: the same in a word or two, for programs: a value of ``DeliveryState``.
    """

    database: str
    redis: str
    delivery: str
    state: str
    descriptors: str = "ok"


class Readiness:
    """Whether database and Redis answer and jobs are delivered, asked once a second at most.

    They are asked in a thread of its own, on its own connections: what hangs there holds no thread that answers
    requests, and probes are answered as long as there is one.
    """

    def __init__(self) -> None:
        self._clock = SystemClock()
        self._lock = Lock()
        self._thread = OwnThread[Found]("delayhub-probes")
        self._under_way: Future[Found] | None = None
        #: Of the question that is under way, what is known already.
        self._known: dict[str, str] = {}
        self._last: tuple[float, Found] | None = None

    def found(self) -> Found:
        """What answers now, or did within the last second; what has not answered in time counts as away."""
        found = self._found()
        return found if has_descriptors() else found._replace(descriptors="none left")

    def _found(self) -> Found:
        with self._lock:
            if self._last is not None and self._clock.monotonic() <= self._last[0]:
                return self._last[1]
            if self._under_way is None or self._under_way.done():  # what came after its probes had gone may be old
                self._known = {}
                self._under_way = self._thread.submit(self._ask)
            asked = self._under_way
        try:
            found = asked.result(timeout=PATIENCE_SECONDS)
        except NotDone:
            return self._silent()
        with self._lock:
            if self._under_way is asked:
                self._under_way = None
                self._last = self._clock.monotonic() + READY_SECONDS, found
        return found

    def forget(self) -> None:
        """Makes the next question ask all of them."""
        self._last = None

    def _ask(self) -> Found:
        using = router.db_for_write(Job)
        try:
            if not connections[using].in_atomic_block:
                connections[using].close_if_unusable_or_obsolete()  # no request ends in this thread
            database = self._known["database"] = _outcome("database", _ask_database)
            server = self._known["redis"] = _outcome("Redis", _ask_redis)
            # Not asked again where it may take long not to answer.
            health = self._delivery() if database == "ok" else _NO_DATABASE
            database = _OF_DATABASE.get(health.state, database)
            return Found(database, server, health.sentence or "ok", health.state.value)
        except Exception:
            # Such as a connection that was lost after it had answered.
            logger.exception("a probe failed", extra={"action": "readyz"})
            connections[using].close()
            return Found("away", self._known.get("redis", "away"), _NO_DATABASE.sentence, _NO_DATABASE.state.value)

    def _silent(self) -> Found:
        """What is known where not all of it answers in time."""
        database, server = self._known.get("database", "away"), self._known.get("redis", "away")
        if database == "ok":
            return Found(database, server, _SLOW.sentence, _SLOW.state.value)
        return Found(database, server, _NO_DATABASE.sentence, _NO_DATABASE.state.value)

    def _delivery(self) -> DeliveryHealth:
        lock = lock_on_jobs(using=router.db_for_write(Job))
        health = _ask_delivery() if lock is None else waits_for(lock)
        if health.sentence and (self._last is None or self._last[1].delivery != health.sentence):
            logger.warning("%s", health, extra={"action": "readyz"})
        return health


_NO_DATABASE = DeliveryHealth(
    state=DeliveryState.DATABASE_AWAY, sentence="no job is delivered: the database does not answer"
)
#: The database has answered; what is asked after it is Redis.
_SLOW = DeliveryHealth(
    state=DeliveryState.REDIS_AWAY, sentence="it is not known whether jobs are delivered: Redis does not answer in time"
)

#: What is said of a database that answers, by what it keeps from being done.
_OF_DATABASE = {
    DeliveryState.DATABASE_LOCKED: "locked",
    DeliveryState.DATABASE_FULL: "full",
    DeliveryState.DATABASE_READ_ONLY: "read-only",
    DeliveryState.DATABASE_STANDBY: "standby",
}

readiness = Readiness()


def _outcome(what: str, ask: Callable[[], None]) -> str:
    try:
        ask()
    except (DatabaseError, *AWAY) as error:
        logger.warning("the %s does not answer: %s: %s", what, type(error).__name__, error, extra={"action": "readyz"})
        return "away"
    return "ok"


def _ask_database() -> None:
    using = router.db_for_write(Job)
    try:
        with connections[using].cursor() as cursor:
            cursor.execute("SELECT 1")
    except DatabaseError as error:
        connections[using].close()
        give_way_to_pooler(using, error)
        raise


def _ask_redis() -> None:
    ask_redis()


def _ask_delivery() -> DeliveryHealth:
    return delivery_health()
