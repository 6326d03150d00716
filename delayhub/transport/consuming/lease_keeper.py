"""The thread that renews a process' leases, and sends acknowledgements that its event loop is too busy to send."""

from __future__ import annotations

import logging
import threading
import time
from _queue import Empty, SimpleQueue
from collections import deque
from collections.abc import Callable
from importlib import import_module
from typing import Any, Protocol

import redis
from kombu.log import get_logger
from kombu.utils.compat import detect_environment

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


#: Seconds that a line waits for a greenlet.
PAUSE_SECONDS = 1.0


class ThreadLogs(logging.Filter):
    """Keeps a thread's lines until a greenlet logs them.

    Eventlet's locks, which it puts into ``logging`` too, are for the greenlets of one thread: where two threads want
    the same lock, the program hangs. The keeper logs most while Redis is away, as all others do.

    Args:
        loggers: those that the thread uses.
    """

    def __init__(self, *loggers: logging.Logger) -> None:
        super().__init__()
        self.thread = 0
        self.kept: deque[logging.LogRecord] = deque(maxlen=1000)
        for logger in loggers:
            logger.addFilter(self)

    def begin(self) -> None:
        """Called in the thread, before it logs."""
        self.thread = threading.get_ident()

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether the line is not the thread's."""
        if record.thread != self.thread or not self.thread:
            return True
        self.kept.append(record)
        return False

    def say(self) -> None:
        """Logs what was kept; called by a greenlet."""
        while self.kept:
            record = self.kept.popleft()
            logging.getLogger(record.name).callHandlers(record)

    def start(self) -> None:
        """Starts the greenlet that logs, once a second."""
        eventlet: Any = import_module("eventlet")

        def run() -> None:
            while True:
                eventlet.sleep(PAUSE_SECONDS)
                self.say()

        eventlet.spawn_n(run)
