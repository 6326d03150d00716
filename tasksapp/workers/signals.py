"""What runs in a Celery worker beside its tasks: the loader's thread, and the delivery runtime."""

from __future__ import annotations

import logging
import os
import threading
from typing import Any

import redis
from celery import current_app
from celery.concurrency.prefork import TaskPool
from celery.exceptions import WorkerShutdown
from celery.signals import (
    worker_process_init,
    worker_process_shutdown,
    worker_ready,
    worker_shutdown,
    worker_shutting_down,
)
from django.db import Error, connections, router

from tasksapp.conf import options
from tasksapp.maintenance.loader import Loader
from tasksapp.maintenance.purger import Purger
from tasksapp.models import Job
from tasksapp.timers.lanes import client
from tasksapp.timers.redis_clock import RedisClock
from tasksapp.workers.delivery_runtime import close_delivery_runtime, warm_up

logger = logging.getLogger(__name__)

#: After a failed turn the next one waits this long.
FAILED_SECONDS = 2.0


class LoaderThread:
    """Runs a loader's turns until it is stopped, and purges in between. No process is forked in the middle of one."""

    def __init__(self, loader: Loader, *, using: str) -> None:
        self._loader = loader
        self._purger = Purger(using=using, clock=RedisClock(client))
        self._using = using
        self._stop = threading.Event()
        self._turn = threading.Lock()
        self._thread = threading.Thread(target=self._run, name="delayhub-loader", daemon=True)

    def start(self) -> None:
        """Begins with a turn at once."""
        os.register_at_fork(before=self._hold_still, after_in_parent=self._go_on)
        self._thread.start()

    def stop(self) -> None:
        """Ends after the turn under way, and gives the seat to another loader."""
        self._stop.set()
        self._thread.join(10.0)

    def run_once(self) -> bool:
        """One turn; whether it went well. A failure is logged, and made good for by the next."""
        with self._turn:
            try:
                if self._loader.run_once().held:
                    self._purger.run_once()
            except (Error, redis.RedisError, OSError) as error:
                logger.warning("the loader's turn failed, trying again: %s", error, extra={"action": "load"})
            except Exception:
                # Without the loader nothing is mended any more, so no fault of one turn may end it.
                logger.exception("the loader's turn failed, trying again", extra={"action": "load"})
            else:
                return True
            connections[self._using].close()
            return False

    def _run(self) -> None:
        wait = 0.0
        while not self._stop.wait(wait):
            wait = options().sweep_seconds if self.run_once() else FAILED_SECONDS
        try:
            self._loader.resign()
        except (redis.RedisError, OSError):
            logger.debug("the loader's seat will be free when its lease ends")
        connections[self._using].close()

    def _hold_still(self) -> None:
        # A turn that takes longer than this waits for a server; a child that is forked then uses nothing of it.
        self._held_still = self._turn.acquire(timeout=2.0)

    def _go_on(self) -> None:
        if self._held_still:
            self._turn.release()


class _Running:
    """The loader's thread of this process."""

    thread: LoaderThread | None = None


@worker_ready.connect(dispatch_uid="tasksapp.workers.signals")
def start_loader(sender: Any = None, **_: Any) -> None:
    """Starts the loader in a worker that consumes a timer lane."""
    if _Running.thread is None and _serves_timers(sender.app):
        using = router.db_for_write(Job)
        _Running.thread = LoaderThread(Loader(using=using), using=using)
        _Running.thread.start()


@worker_ready.connect(dispatch_uid="tasksapp.workers.signals.warm_up")
def open_early(sender: Any = None, **_: Any) -> None:
    """Opens the delivery runtime where its tasks will run; not in the parent of a prefork pool, whose children do.

    A pool of greenlets is refused: it has one thread, which the dispatcher's loop would keep for itself.
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
def open_early_in_child(**_: Any) -> None:
    """The same in a child, right after the fork."""
    if _serves_timers(current_app):
        warm_up()


@worker_shutting_down.connect(dispatch_uid="tasksapp.workers.signals")
def stop_loader(**_: Any) -> None:
    """Lets another worker's loader take over at once."""
    thread, _Running.thread = _Running.thread, None
    if thread is not None:
        # From a signal handler: nothing may wait here.
        threading.Thread(target=thread.stop, name="delayhub-loader-stop", daemon=True).start()


@worker_process_shutdown.connect(dispatch_uid="tasksapp.workers.signals")
@worker_shutdown.connect(dispatch_uid="tasksapp.workers.signals")
def finish_deliveries(**_: Any) -> None:
    """Lets open callbacks end, and writes every outcome, before the process does."""
    close_delivery_runtime()


def _serves_timers(app: Any) -> bool:
    return bool(set(options().lanes) & set(app.amqp.queues.consume_from))
