"""SiteCollector: the numbers of the whole site, read from database and Redis, and kept for some seconds."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from threading import Lock
from typing import Any

from django.db import DatabaseError, connections, router
from prometheus_client.registry import Collector

import delayhub
from delayhub.clock import Clock, SystemClock
from tasksapp.errors import AWAY
from tasksapp.metrics import catalogue
from tasksapp.metrics.catalogue import BizTypeSeries
from tasksapp.metrics.job_numbers import job_numbers
from tasksapp.metrics.redis_numbers import gate_numbers, lane_numbers, queue_numbers, worker_numbers
from tasksapp.models import Job
from tasksapp.stats.delivery_health import DeliveryState, delivery_health
from tasksapp.stats.timer_server import loaders_seen
from tasksapp.timers.lanes import watched

logger = logging.getLogger(__name__)

#: How long what was read is given out again. Of several processes one may give out what another read before: counters
#: never fall as long as scrapes are further apart than this.
KEPT_SECONDS = 3.0
#: How long a scrape waits for another one that reads.
WAIT_SECONDS = 5.0


class ReadUnderWay(Exception):
    """Another scrape has been reading for seconds: database or Redis is slow; ask again later."""


class SiteCollector(Collector):
    """The site's numbers, for any registry of ``prometheus_client``: ``REGISTRY.register(SiteCollector())``.

    They are read by the process that is asked and are the same in all of them.

    Args:
        clock: tells how old what was read is.
    """

    def __init__(self, clock: Clock | None = None) -> None:
        self._clock = clock or SystemClock()
        self._lock = Lock()
        self._last: tuple[float, list[Any]] | None = None

    def describe(self) -> Iterable[Any]:
        """Nothing, so that a registry does not read the numbers when this is registered."""
        return []

    def collect(self) -> list[Any]:
        """All families; what does not answer is reported as down, and its numbers are left out.

        Raises ReadUnderWay where another caller has been reading for seconds.
        """
        if not self._lock.acquire(timeout=WAIT_SECONDS):
            raise ReadUnderWay
        try:
            began = self._clock.monotonic()
            if self._last is None or began - self._last[0] > KEPT_SECONDS:
                with _own_connections():
                    families = list(_read())
                families.append(catalogue.READ_SECONDS.of(self._clock.monotonic() - began))
                # Counted from before the read: what it found may be as old as that.
                self._last = began, families
            return self._last[1]
        finally:
            self._lock.release()

    def forget(self) -> None:
        """Makes the next call read all of them."""
        self._last = None


def _read() -> Iterator[Any]:
    build = catalogue.BUILD.family()
    build.add_metric([delayhub.__version__], 1)
    yield build
    parts = catalogue.PART_UP.family()
    series = None
    try:
        # Never a replica, whose counters may be behind those of the last read.
        using = router.db_for_write(Job)
        series = BizTypeSeries.read(using=using)
        found = [
            catalogue.BIZ_TYPES.of(len(series.every)),
            *job_numbers(series, using=using),
            *_loader_age(using=using),
        ]
    except DatabaseError as error:
        logger.warning("the numbers of the database are left out: %s", error, extra={"action": "metrics"})
        found = []
    parts.add_metric(["database"], bool(found))
    yield from found
    try:
        found = watched(lambda: [*lane_numbers(), *worker_numbers(), *queue_numbers()])
        if series is not None:
            found += watched(lambda: [*gate_numbers(series)])
    except AWAY as error:
        logger.warning("the numbers of Redis are left out: %s", error, extra={"action": "metrics"})
        found = []
    parts.add_metric(["redis"], bool(found))
    yield from found
    yield parts
    yield _state()


@contextmanager
def _own_connections() -> Iterator[None]:
    """Replaces connections that broke before, and closes those that were opened meanwhile.

    A scrape may come in a thread of prometheus_client's own, where no request ends, and which itself ends soon.
    """
    before = set()
    for connection in connections.all(initialized_only=True):
        if not connection.in_atomic_block:
            connection.close_if_unusable_or_obsolete()
        if connection.connection is not None:
            before.add(connection.alias)
    try:
        yield
    finally:
        for connection in connections.all(initialized_only=True):
            if connection.alias not in before and not connection.in_atomic_block:
                connection.close()


def _loader_age(*, using: str) -> Iterator[Any]:
    for loader in loaders_seen(using=using)[:1]:
        yield catalogue.LOADER_AGE.of(max(0.0, loader.age.total_seconds()))


def _state() -> Any:
    family, found = catalogue.DELIVERY_STATE.family(), delivery_health().state
    for state in DeliveryState:
        family.add_metric([state.replace(" ", "_")], state is found)
    return family
