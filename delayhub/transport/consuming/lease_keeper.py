"""The thread that renews a process' leases, and sends acknowledgements that its event loop is too busy to send."""

from __future__ import annotations

import threading
import time

# The C class itself: gevent and eventlet replace queue.SimpleQueue, and a wait on theirs is no wait of a thread.
from _queue import Empty, SimpleQueue
from collections.abc import Callable
from importlib import import_module
from typing import Any, Protocol

import redis
from kombu.log import get_logger
from kombu.utils.compat import detect_environment

from delayhub.transport.consuming.thread_logs import ThreadLogs

logger = get_logger(__name__)

#: Seconds that an event loop has to send an acknowledgement before the keeper does.
ACK_PATIENCE = 0.1


class KeptBook(Protocol):
    """What the keeper needs of the book of leases."""

    @property
    def holds_leases(self) -> bool:
        """Whether there is anything to renew."""

    def keep(self, client: redis.Redis) -> None:
        """Renews all leases once, and sends acknowledgements."""

    def flush(self, client: redis.Redis) -> None:
        """Sends all acknowledgements."""


class LeaseKeeper:
    """Keeps a book from a thread of the operating system, also where gevent or eventlet has replaced threads.

    A pool that blocks the event loop, or a greenlet that computes, does not stop it. Only code that holds the Python
    interpreter's lock (GIL) does: C code that does not release it. The keeper says so when it went on for too long.

    Args:
        book: what it keeps.
        client: its own client; a thread beside greenlets must not wait for locks that they hold.
        lease_seconds: how long leases are; they are renewed at a third of it.
    """

    def __init__(self, book: KeptBook, client: redis.Redis, *, lease_seconds: float) -> None:
        self.book = book
        self.client = client
        self.lease_seconds = lease_seconds
        #: Its connections may be dead: it makes them again, by itself, since they belong to its thread.
        self.distrusts = False
        self._wakes: SimpleQueue[None] = SimpleQueue()
        self._never: SimpleQueue[None] = SimpleQueue()
        self._is_started = False
        self._lock = threading.Lock()

    def start(self) -> None:
        """Starts the thread; a second time it does nothing."""
        if self._is_started:
            return
        with self._lock:
            if not self._is_started:
                self._is_started = True
                start_thread(self._run)

    def wake(self) -> None:
        """Acknowledgements wait: the keeper sends them unless the event loop has done so within ``ACK_PATIENCE``."""
        if self._wakes.empty():
            self._wakes.put(None)

    def renew(self, *, slept: float) -> None:
        """One renewal of all leases.

        Args:
            slept: the seconds since the last one. Where that is longer than a lease, leases may have run out.
        """
        if slept > self.lease_seconds and self.book.holds_leases:
            logger.warning(
                "leases could not be renewed for %.1f s, longer than lease_seconds (%g): some code did not let go of "
                "the Python interpreter, or the machine stood still. Other workers may run this worker's messages "
                "too. Set lease_seconds above the longest time for which a task computes in C code.",
                slept,
                self.lease_seconds,
                extra={"action": "keeper_starved"},
            )
        self._try(self.book.keep, "renew leases")

    def _run(self) -> None:
        pause = self.lease_seconds / 3
        renewed_at = time.monotonic()
        while True:
            left = renewed_at + pause - time.monotonic()
            if left > 0 and self._waits(self._wakes, left):
                self._waits(self._never, ACK_PATIENCE)
                self._try(self.book.flush, "send acknowledgements")
                continue
            now = time.monotonic()
            self.renew(slept=now - renewed_at)
            renewed_at = now

    def _waits(self, queue: SimpleQueue[None], seconds: float) -> bool:
        """Whether something came within so many seconds."""
        try:
            queue.get(timeout=seconds)
        except Empty:
            return False
        return True

    def _try(self, action: Callable[[redis.Redis], None], what: str) -> None:
        try:
            if self.distrusts:
                self.distrusts = False
                self.client.connection_pool.disconnect(inuse_connections=False)
            action(self.client)
        except Exception as error:  # without its thread, the process would lose all its leases
            logger.warning("could not %s, trying again: %s", what, error)


def start_thread(run: Callable[[], None]) -> None:
    """Runs it in a daemon thread of the operating system, whatever has become of Python's ``threading``."""
    match detect_environment():
        case "gevent":
            gevent: Any = import_module("gevent.monkey")
            gevent.get_original("_thread", "start_new_thread")(run, ())
        case "eventlet":
            eventlet: Any = import_module("eventlet.patcher")
            logs = ThreadLogs(logger, get_logger(f"{__package__}.lease_book"))
            logs.start()

            def log_and_run() -> None:
                logs.begin()
                run()

            eventlet.original("_thread").start_new_thread(log_and_run, ())
        case _:
            threading.Thread(target=run, name="delayhub-keeper", daemon=True).start()
