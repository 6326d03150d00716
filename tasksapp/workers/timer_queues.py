"""The timer queues of a worker: each worker has the timer lanes, unless its ``-Q`` or pool leaves them out."""

from __future__ import annotations

import logging
from typing import Any

import redis
from celery.signals import worker_ready

from tasksapp.conf import options
from tasksapp.timers.fitness import add_timer_queues, is_served, settings_faults

logger = logging.getLogger(__name__)


def take_timers(instance: Any = None, **signal: Any) -> None:
    """Gives the worker the timer queues that ``task_queues`` does not name, and the task that timers become.

    Not with a pool of greenlets, which cannot deliver.
    """
    # A project may not discover it.
    instance.app.loader.import_task_module("tasksapp.tasks")
    # The command line gives the class as ``pool``, programs give a name or a class as ``pool_cls``.
    given = signal.get("options") or {}
    pool = str(given.get("pool_cls") or given.get("pool") or instance.app.conf.worker_pool)
    if "gevent" not in pool and "eventlet" not in pool:
        add_timer_queues(instance.app)


def report_faults(worker: Any) -> None:
    """Logs an error for all in the settings that keeps every job from running: at the start, also without a broker."""
    if _ends_at_once(worker):
        return
    for fault in settings_faults():
        logger.error("no job can run: %s", fault, extra={"action": "startup"})


@worker_ready.connect(dispatch_uid="tasksapp.workers.timer_queues")
def report_unserved_timers(sender: Any = None, **_: Any) -> None:
    """Logs a warning where no worker takes the timers at this moment."""
    if _takes_timers(sender) or settings_faults():
        return
    try:
        served = is_served()
    except (redis.RedisError, OSError) as error:
        logger.warning("whether a worker takes the timers is not known: %s", error, extra={"action": "startup"})
        return
    if not served:
        lanes = ", ".join(options().lanes)
        logger.warning(
            "this worker leaves the timers (%s) out, and no other worker takes them at this moment: %s",
            lanes,
            f"a pool of greenlets (gevent, eventlet) cannot deliver jobs, so start a worker with another, such as"
            f" celery -A … worker -P threads -Q {lanes}"
            if getattr(sender.pool, "is_green", False)
            else "start one with these queues in its -Q, or without -Q",
            extra={"action": "startup"},
        )


def _takes_timers(worker: Any) -> bool:
    return bool(set(options().lanes) & set(worker.app.amqp.queues.consume_from))


def _ends_at_once(worker: Any) -> bool:
    """Whether it is a worker that cannot do what it was given, and says that: see ``tasksapp.workers.signals``."""
    return getattr(worker.pool, "is_green", False) and _takes_timers(worker)
