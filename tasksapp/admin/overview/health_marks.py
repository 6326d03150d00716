"""Whether all parts are well, in words: for the head of the overview and for the mark on each page."""

from __future__ import annotations

from dataclasses import dataclass

import redis
from django.http import HttpRequest
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from delayhub.errors import OptionError
from tasksapp.admin.frame.delivery_banner import health_of
from tasksapp.queues.heartbeats import WorkerBeat, read_workers
from tasksapp.stats.delivery_health import DeliveryHealth, DeliveryState

#: States in which Redis is not asked another time: it did not answer, or the settings name none.
NO_REDIS = frozenset({DeliveryState.DATABASE_AWAY, DeliveryState.SETTINGS, DeliveryState.REDIS_AWAY})


@dataclass(frozen=True, slots=True)
class Mark:
    """One part of the system: its state in words, and the colour of it, ``good``, ``warning`` or ``bad``."""

    text: str
    tone: str


def has_redis(health: DeliveryHealth) -> bool:
    """Whether Redis answered when it was asked."""
    return health.state not in NO_REDIS


def mark_of(request: HttpRequest) -> Mark:
    """One mark for the frame of each page."""
    health = health_of(request)
    if health.is_ok:
        return Mark(_("Delivering"), "good")
    late_only = health.state in {DeliveryState.OTHER_REDIS, DeliveryState.NO_LOADER, DeliveryState.LOADER_FAILS}
    return Mark(_("Jobs may be late"), "warning") if late_only else Mark(_("Not delivering"), "bad")


def marks(health: DeliveryHealth) -> list[Mark]:
    """A mark for each part: Redis, the database, the workers, the loader."""
    database = Mark(_("Database answers"), "good")
    if not has_redis(health):
        return [Mark(_("Redis does not answer"), "bad"), database]
    try:
        workers = read_workers()
    except (redis.RedisError, OSError, OptionError):
        return [Mark(_("Redis does not answer"), "bad"), database]
    return [Mark(_("Redis answers"), "good"), database, _workers_mark(workers), _loader_mark(workers, health)]


def _workers_mark(workers: list[WorkerBeat]) -> Mark:
    if not workers:
        return Mark(_("No worker"), "bad")
    text = ngettext("%(workers)s worker", "%(workers)s workers", len(workers)) % {"workers": f"{len(workers):,}"}
    return Mark(text, "good" if any(worker.lanes for worker in workers) else "warning")


def _loader_mark(workers: list[WorkerBeat], health: DeliveryHealth) -> Mark:
    loader = next((worker for worker in workers if worker.is_loader), None)
    if loader is None:
        return Mark(_("No loader"), "warning")
    words = {"worker": loader.host}
    if health.state is DeliveryState.LOADER_FAILS:
        return Mark(_("Loader on %(worker)s fails") % words, "bad")
    return Mark(_("Loader on %(worker)s") % words, "good")
