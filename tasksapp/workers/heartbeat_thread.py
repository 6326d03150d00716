"""HeartbeatThread: writes what a worker process does every five seconds, for the pages that show workers."""

from __future__ import annotations

import logging
import os
import socket
import threading
from collections.abc import Callable, Iterable
from typing import Any
from uuid import uuid4

import redis
from celery.signals import worker_process_init, worker_process_shutdown, worker_ready, worker_shutdown
from celery.worker import state

import delayhub
from delayhub.clock import SystemClock
from delayhub.descriptors import watch_descriptors
from delayhub.errors import OptionError
from delayhub.redis_cluster import client_of
from tasksapp.queues.heartbeats import BEAT_SECONDS, NAMED_TASKS, Beat, remove_beat, write_beat
from tasksapp.sql.driver.fork_guard import ForkGuard
from tasksapp.timers.broker import timer_pool
from tasksapp.timers.redis_clock import RedisClock
from tasksapp.workers.delivery_runtime import delivery_activity
from tasksapp.workers.signals import is_loader, last_purge

logger = logging.getLogger(__name__)

#: How long a heartbeat waits for Redis; the next one comes soon.
REDIS_SECONDS = 2.0
#: Of this worker, since two containers may have one host name, and process 1 both. Children have their parent's.
_TOKEN = uuid4().hex[:8]
#: The process that imported this: a worker's main one. The solo pool announces it as if it were a child.
_MAIN = os.getpid()


class HeartbeatThread:
    """Writes the heartbeats of this process until it is stopped. No process is forked in the middle of one.

    Args:
        describe: what the process does at this moment.
    """

    def __init__(self, describe: Callable[[RedisClock], Beat]) -> None:
        self._describe = describe
        # A client of its own: after a fork, no connection of the parent is used.
        self._client = client_of(timer_pool(timeout_seconds=REDIS_SECONDS))
        self._clock = RedisClock(lambda: self._client)
        self._stop = threading.Event()
        self._guard = ForkGuard()
        self._thread = threading.Thread(target=self._run, name="delayhub-heartbeat", daemon=True)

    def start(self) -> None:
        """Begins with a heartbeat at once."""
        self._thread.start()

    def stop(self) -> None:
        """Ends, and removes the heartbeat so that the worker is gone at once."""
        self._stop.set()
        self._thread.join(REDIS_SECONDS * 2)

    def run_once(self) -> bool:
        """Writes a heartbeat; whether Redis took it."""
        with self._guard:
            try:
                self._clock.sync()
                write_beat(self._client, self._describe(self._clock))
            except (redis.RedisError, OSError) as error:
                logger.debug("a heartbeat was not written: %s", error, extra={"action": "heartbeat"})
                return False
            return True

    def _run(self) -> None:
        wait = 0.0
        while not self._stop.wait(wait):
            try:
                self.run_once()
            except Exception:
                # Pages lack this worker then; its work goes on.
                logger.exception("a heartbeat could not be made", extra={"action": "heartbeat"})
            wait = BEAT_SECONDS
        try:
            remove_beat(self._client, process_name())
        except (redis.RedisError, OSError):
            logger.debug("the heartbeat will be gone when its key ends")
        self._client.close()


class _Running:
    """The heartbeat thread of this process."""

    thread: HeartbeatThread | None = None


@worker_ready.connect(dispatch_uid="tasksapp.workers.heartbeat_thread")
def start_heartbeats(sender: Any = None, **_: Any) -> None:
    """Starts the heartbeats of a worker, with timer lanes or without; not where the settings name no Redis."""
    if _Running.thread is None:
        started_ms: list[int] = []

        def describe(clock: RedisClock) -> Beat:
            started_ms[:] = started_ms or [clock.now_ms()]
            return beat_of(sender, clock, started_ms=started_ms[0])

        _start(describe)


@worker_process_init.connect(dispatch_uid="tasksapp.workers.heartbeat_thread")
def start_childs_heartbeats(**_: Any) -> None:
    """Starts those of a child of a prefork pool."""
    if os.getpid() != _MAIN:
        watch_descriptors()
        _start(beat_of_child)


@worker_process_shutdown.connect(dispatch_uid="tasksapp.workers.heartbeat_thread")
@worker_shutdown.connect(dispatch_uid="tasksapp.workers.heartbeat_thread")
def stop_heartbeats(**_: Any) -> None:
    """Removes the heartbeat of a process that ends."""
    thread, _Running.thread = _Running.thread, None
    if thread is not None:
        thread.stop()


def beat_of(consumer: Any, clock: RedisClock, *, started_ms: int) -> Beat:
    """What a worker does at this moment.

    Args:
        consumer: the worker's consumer, as Celery gives it to receivers of ``worker_ready``.
        clock: Redis' time.
        started_ms: when the worker began.
    """
    activity, now_ms = delivery_activity(), clock.now_ms()
    ahead_ms = now_ms - SystemClock().now_ms()
    purged_ms, purged_jobs = last_purge()
    active = _members(state.active_requests)
    begun = {request.id for request in active}
    held = [request.id for request in _members(state.reserved_requests) if request.id not in begun]
    return Beat(
        name=process_name(),
        host=socket.gethostname(),
        pid=os.getpid(),
        node=str(consumer.hostname or ""),
        version=delayhub.__version__,
        pool=_pool_name(consumer.pool),
        concurrency=int(consumer.pool.num_processes or 1),
        queues=tuple(consumer.app.amqp.queues.consume_from),
        open_callbacks=activity.open_callbacks,
        tasks=[_running(request, ahead_ms) for request in active[:NAMED_TASKS]],
        running_count=len(active),
        held=held[:NAMED_TASKS],
        last_claim_ms=activity.last_claim_ms,
        started_ms=started_ms,
        seen_ms=now_ms,
        is_loader=is_loader(),
        purged_ms=purged_ms,
        purged_jobs=purged_jobs,
    )


def beat_of_child(clock: RedisClock) -> Beat:
    """What a child of a prefork pool does that its parent does not know: it delivers."""
    activity = delivery_activity()
    return Beat(
        name=process_name(),
        parent=f"{socket.gethostname()}:{_MAIN}:{_TOKEN}",
        host=socket.gethostname(),
        pid=os.getpid(),
        version=delayhub.__version__,
        open_callbacks=activity.open_callbacks,
        last_claim_ms=activity.last_claim_ms,
        seen_ms=clock.now_ms(),
    )


def process_name() -> str:
    """The name of this process in Redis."""
    return f"{socket.gethostname()}:{os.getpid()}:{_TOKEN}"


def _start(describe: Callable[[RedisClock], Beat]) -> None:
    try:
        _Running.thread = HeartbeatThread(describe)
    except (OptionError, ValueError) as error:  # what else that keeps from working, the worker's start reports
        logger.debug("no heartbeats: %s", error, extra={"action": "heartbeat"})
        return
    _Running.thread.start()


def _pool_name(pool: Any) -> str:
    """What the worker's ``-P`` calls its pool."""
    module = type(pool).__module__.rpartition(".")[2]
    return "threads" if module == "thread" else module


def _running(request: Any, ahead_ms: int) -> tuple[str, str, int]:
    since = request.time_start
    return request.id, request.name, int(since * 1000) + ahead_ms if since else 0


def _members(requests: Iterable[Any]) -> list[Any]:
    """The members of a set that the worker's other threads change; none where they change it again and again."""
    for _ in range(10):
        try:
            return list(requests)
        except RuntimeError:  # it changed size
            continue
    return []
