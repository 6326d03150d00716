"""Cold shutdowns: how each pool ends the tasks that it breaks off, so that their messages go back."""

from __future__ import annotations

import logging
import os
import signal
from collections.abc import Callable
from functools import partial
from typing import Any, cast

from celery import bootsteps
from celery.concurrency.solo import TaskPool as SoloPool
from celery.concurrency.thread import TaskPool as ThreadPool
from celery.exceptions import WorkerTerminate
from celery.worker import state

from delayhub.transport.channel import Channel

#: What Celery 5.7, or 5.5, calls when a worker ends cold: a soft shutdown does so when its seconds are over.
CANCELS = ("cancel_active_requests", "cancel_all_unacked_requests")


class EndCold(bootsteps.StartStopStep):
    """Lets a worker that ends cold give back the messages of the tasks that it breaks off."""

    requires = ("celery.worker.consumer.connection:Connection",)

    def start(self, parent: Any) -> None:
        """Called at the start, when Celery has set its signal handlers, and at every reconnect."""
        name = next(name for name in CANCELS if hasattr(parent, name))
        if name in vars(parent) or not isinstance(parent.connection.default_channel, Channel):
            return
        vars(parent)[name] = partial(cancel_all, parent, getattr(parent, name))
        if getattr(parent.pool, "is_green", False):
            worker = parent.controller
            vars(worker)["wait_for_soft_shutdown"] = partial(wait_softly, parent, worker.wait_for_soft_shutdown)
            handle_in_greenlets(parent.pool.spawn_n)


def cancel_all(consumer: Any, cancel: Callable[[], None]) -> None:
    """Cancel what runs; a pool that cannot end a task ends with its process.

    Raises:
        WorkerTerminate: in the task of a solo worker, whose only thread the signal has interrupted. A task that catches
            it and goes on to its end is acknowledged.
    """
    # Celery sets this later, and before 5.6 when all is over. What is lost from here on is not the fault of its task.
    state.should_terminate = True  # type: ignore[assignment]  # as Celery does
    cancel()
    pool = consumer.pool
    if isinstance(pool, SoloPool) and state.active_requests:
        raise WorkerTerminate(os.EX_OK)
    if isinstance(pool, ThreadPool):
        # Celery would wait for the threads here, and Python at its exit, after their messages have gone back.
        vars(pool)["stop"] = partial(cast("Any", pool).executor.shutdown, wait=False, cancel_futures=True)
        vars(consumer.controller)["terminate"] = partial(leave, consumer.controller.terminate)


def leave(terminate: Callable[..., None], **options: Any) -> None:
    """End the worker, and the process with it if threads still run tasks."""
    terminate(**options)
    if state.active_requests:
        logging.shutdown()
        os._exit(os.EX_OK)


# ---------------------------------------------------------------- greenlets


def wait_softly(consumer: Any, wait: Callable[[], None]) -> None:
    """Wait for the tasks of a soft shutdown, and take no others: the event loop of greenlets goes on meanwhile."""
    if consumer.task_consumer:
        consumer.task_consumer.cancel()
    wait()


def handle_in_greenlets(spawn: Callable[..., object]) -> None:
    """Let each of Celery's signal handlers run in a greenlet of its own.

    A signal interrupts any greenlet, most often the hub, which cannot wait; Celery's handlers wait.
    """
    for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGTERM):
        handler: Any = signal.getsignal(number)
        if getattr(handler, "__name__", "").startswith("worker_"):
            signal.signal(number, partial(_spawn_handler, spawn, handler))


def _spawn_handler(spawn: Callable[..., object], handler: Callable[..., None], number: int, frame: object) -> None:
    spawn(handler, number, frame)
    spawn(handle_in_greenlets, spawn)  # a handler installs the one for the next signal
