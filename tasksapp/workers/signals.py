"""What runs in a Celery worker beside its tasks: the maintenance thread, and the delivery runtime."""

from __future__ import annotations

import logging
import threading
from typing import Any

from celery import Celery, bootsteps, current_app
from celery.concurrency import get_implementation
from celery.concurrency.prefork import TaskPool
from celery.exceptions import WorkerShutdown
from celery.signals import (
    worker_init,
    worker_process_init,
    worker_process_shutdown,
    worker_ready,
    worker_shutdown,
    worker_shutting_down,
)
from django.db import router

from delayhub.descriptors import watch_descriptors
from tasksapp.alerts.thread import unwatch, watch
from tasksapp.conf import options
from tasksapp.jobs.job_log import add_up_now
from tasksapp.maintenance.counter import Counter, CountingThread
from tasksapp.maintenance.loader import Loader
from tasksapp.maintenance.thread import MaintenanceThread
from tasksapp.models import Job
from tasksapp.stats.pulse_recorder import pulse_recorder
from tasksapp.timers.fitness import TIMER_TASK, names_redis
from tasksapp.timers.slots import held_slots
from tasksapp.workers.delivery_runtime import close_delivery_runtime, warm_up
from tasksapp.workers.redis_stand_in import RedisStandIn
from tasksapp.workers.timer_queues import report_faults

logger = logging.getLogger(__name__)


class _Running:
    """The threads of this process."""

    thread: MaintenanceThread | None = None
    counting: CountingThread | None = None
    stand_in: RedisStandIn | None = None


class MaintenanceStep(bootsteps.StartStopStep):
    """Starts the maintenance before the worker connects to Redis, which may be away: series need none.

    After the pool, so that no child is forked beside the first turn, which may load millions of timers.
    """

    requires = ("celery.worker.components:Pool",)

    def start(self, parent: Any) -> None:
        """Called once, when the pool runs."""
        report_faults(parent)
        start_maintenance(parent.app)


@worker_init.connect(dispatch_uid="tasksapp.workers.signals")
def plan_maintenance(sender: Any = None, **_: Any) -> None:
    """Lets the worker start the maintenance at its time."""
    sender.app.steps["worker"].add(MaintenanceStep)


def start_maintenance(app: Celery) -> None:
    """Starts the maintenance thread in a worker that consumes a timer lane; not where the settings name no Redis."""
    if _Running.thread is None and _serves_timers(app) and names_redis():
        using = router.db_for_write(Job)
        loader = Loader(using=using)
        _Running.thread = MaintenanceThread(loader)
        _Running.thread.start()
        counter = Counter(using=using, clock=loader.clock)
        _Running.counting = CountingThread(counter, holds_seat=lambda: loader.holds_seat, using=using)
        _Running.counting.start()


@worker_ready.connect(dispatch_uid="tasksapp.workers.signals.warm_up")
def warm_up_worker(sender: Any = None, **_: Any) -> None:
    """Makes the delivery runtime in the process that will use it; not in the parent of a prefork pool.

    Raises WorkerShutdown for a pool of greenlets: it has one thread, which the dispatcher's loop would keep for itself.
    """
    if not _serves_timers(sender.app):
        return
    if sender.pool.is_green:
        lanes = ", ".join(options().lanes)
        logger.critical("gevent and eventlet pools cannot deliver jobs: use another, or leave %s out of -Q", lanes)
        raise WorkerShutdown(1)
    if not isinstance(sender.pool, TaskPool):
        warm_up()


@worker_process_init.connect(dispatch_uid="tasksapp.workers.signals.warm_up")
def warm_up_child(**_: Any) -> None:
    """The same in a child of a prefork pool, right after the fork."""
    if _serves_timers(current_app) and names_redis():
        warm_up()


@worker_init.connect(dispatch_uid="tasksapp.workers.signals.stand_in")
def start_stand_in(sender: Any = None, **_: Any) -> None:
    """Begins to look for a Redis that is away: long before ``worker_ready``, which comes only when it answers.

    Not in the parent of a prefork pool, whose children deliver, and not with greenlets, which deliver nothing.
    """
    pool = get_implementation(sender.pool_cls) if _serves_timers(sender.app) else None
    if pool is not None and not pool.is_green and not issubclass(pool, TaskPool):
        _start_stand_in()


@worker_process_init.connect(dispatch_uid="tasksapp.workers.signals.stand_in")
def start_childs_stand_in(**_: Any) -> None:
    """The same in a child of a prefork pool, right after the fork."""
    if _serves_timers(current_app):
        _start_stand_in()


def _start_stand_in() -> None:
    # A solo pool announces its process as if it were a child, too.
    if _Running.stand_in is None:
        _Running.stand_in = RedisStandIn()
        _Running.stand_in.start()


@worker_init.connect(dispatch_uid="tasksapp.workers.signals.quiet")
@worker_process_init.connect(dispatch_uid="tasksapp.workers.signals.quiet")
def quiet_deliveries(**_: Any) -> None:
    """Leaves Celery's lines about claims of timers out of the log."""
    leave_out_deliveries()


@worker_ready.connect(dispatch_uid="tasksapp.workers.signals.start_numbers")
@worker_process_init.connect(dispatch_uid="tasksapp.workers.signals.start_numbers")
def start_numbers(**_: Any) -> None:
    """Lets the numbers of what this process runs be written; it may run tasks and no callbacks."""
    pulse_recorder.start()


@worker_shutting_down.connect(dispatch_uid="tasksapp.workers.signals")
def stop_maintenance(**_: Any) -> None:
    """Lets another worker's loader take over at once."""
    threads = _Running.thread, _Running.counting, _Running.stand_in
    _Running.thread = _Running.counting = _Running.stand_in = None
    for thread in threads:
        if thread is not None:
            # In a thread of its own, since this is a signal handler, which must not wait.
            threading.Thread(target=thread.stop, name="delayhub-maintenance-stop", daemon=True).start()


@worker_process_shutdown.connect(dispatch_uid="tasksapp.workers.signals")
@worker_shutdown.connect(dispatch_uid="tasksapp.workers.signals")
def finish_deliveries(**_: Any) -> None:
    """Lets open callbacks end, writes every outcome and the last numbers and frees the last slots."""
    stand_in, _Running.stand_in = _Running.stand_in, None
    if stand_in is not None:
        stand_in.stop()
    close_delivery_runtime()
    held_slots.free()
    pulse_recorder.stop()
    add_up_now()


def is_loader() -> bool:
    """Whether the loader of this process has the seat."""
    return _Running.thread is not None and _Running.thread.is_loader


def last_purge() -> tuple[int, int]:
    """When this process last deleted old jobs, by Redis' time in Unix ms, and how many; 0 for never."""
    if _Running.thread is None:
        return 0, 0
    at_ms, purged = _Running.thread.last_purge
    return at_ms, purged.jobs


def _serves_timers(app: Celery) -> bool:
    """Whether the worker consumes a timer lane."""
    return bool(set(options().lanes) & set(app.amqp.queues.consume_from))


@worker_ready.connect(dispatch_uid="tasksapp.workers.signals.alerts")
def watch_in_worker(sender: Any = None, **_: Any) -> None:
    """Begins to watch; not with a pool of greenlets, where a database that hangs would hold all of them."""
    watch_descriptors()
    if not sender.pool.is_green:
        watch(is_worker=True)


@worker_shutting_down.connect(dispatch_uid="tasksapp.workers.signals.alerts")
def stop_watching(**_: Any) -> None:
    """Leaves the seat to another process, in a thread, since this is a signal handler, which must not wait."""
    threading.Thread(target=unwatch, name="delayhub-alerts-stop", daemon=True).start()


#: The loggers that have those lines; each record has what it is about in ``data``.
LOGGERS = ("celery.worker.strategy", "celery.app.trace")


class WithoutDeliveries(logging.Filter):
    """A filter of the standard library's, for Celery's loggers."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether the record is written: all but information about claims of timers, unless debugging is on."""
        if record.levelno != logging.INFO or logging.getLogger(record.name).isEnabledFor(logging.DEBUG):
            return True
        data = getattr(record, "data", None)
        return not (isinstance(data, dict) and data.get("name") == TIMER_TASK)


_filter = WithoutDeliveries()


def leave_out_deliveries() -> None:
    """Adds the filter to Celery's loggers; a second call adds nothing."""
    for name in LOGGERS:
        logging.getLogger(name).addFilter(_filter)
