"""The threads that watch, in every web process and in every worker: one looks, the other sends."""

from __future__ import annotations

import logging
import os
import threading
from concurrent.futures import Future
from concurrent.futures import TimeoutError as NotDone

from django.db import connections, router

from delayhub.clock import SystemClock
from delayhub.descriptors import watch_descriptors
from tasksapp.alerts import outbox
from tasksapp.alerts.watch import Turn, Watch
from tasksapp.models import Job
from tasksapp.models.database_faults import is_away
from tasksapp.sql.driver.fork_guard import ForkGuard
from tasksapp.sql.driver.own_thread import OwnThread
from tasksapp.stats.database_writes import note_refusal

logger = logging.getLogger(__name__)

#: How often the holder of the seat looks, and the others ask for the seat.
LOOK_SECONDS = 3.0
#: A turn that takes longer waits for a database that hangs. SQLite may be busy for as long as its timeout.
PATIENCE_SECONDS = {"sqlite": 40.0}
USUAL_PATIENCE_SECONDS = 10.0


class WatchThreads:
    """Watches until it is stopped.

    Args:
        watch: what has the turns.
    """

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self._stop = threading.Event()
        self._wake = threading.Event()
        self._held = False
        # One each: a mail server that hangs must not keep the other thread waiting, as a database that hangs does.
        self._looking, self._sending = ForkGuard(), ForkGuard()
        # A thread of its own for the database, since a server that hangs holds it for minutes.
        self._database = OwnThread[Turn]("delayhub-alerts-database")
        self._under_way: Future[Turn] | None = None
        self._threads = [
            threading.Thread(target=self._look, name="delayhub-alerts", daemon=True),
            threading.Thread(target=self._send, name="delayhub-alerts-sending", daemon=True),
        ]

    def start(self) -> None:
        """Begins with a turn at once."""
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """Ends after the turn under way, and leaves the seat to another process."""
        self._stop.set()
        self._wake.set()
        if self._threads[0].is_alive():
            self._threads[0].join(5.0)

    def run_once(self) -> bool:
        """One turn; whether the database answered. A failure is logged."""
        try:
            turn = self._turn()
        except Exception as error:
            if not isinstance(error, NotDone) and not is_away(error):
                raise
            logger.debug("the database does not answer: %s", error, extra={"action": "alert"})
            note_refusal(error)
            self._held = False
            self._watch.note_away()
            return False
        self._held = turn.held
        return True

    def _turn(self) -> Turn:
        if self._under_way is None:
            self._under_way = self._database.submit(self._in_database)
        patience = PATIENCE_SECONDS.get(connections[self._watch.using].vendor, USUAL_PATIENCE_SECONDS)
        turn = self._under_way.exception(timeout=patience)
        done, self._under_way = self._under_way, None
        if turn is not None:
            raise turn
        return done.result()

    def _in_database(self) -> Turn:
        held = False
        with self._looking:
            try:
                turn = self._watch.run_once()
                held = turn.held
                # The sender itself would make a connection for each look.
                if turn.has_messages:
                    self._wake.set()
                return turn
            finally:
                if not held:
                    connections[self._watch.using].close()

    def _look(self) -> None:
        wait = 0.0
        while not self._stop.wait(wait):
            try:
                self.run_once()
            except Exception:
                # Owners must hear of later faults, so no failure of one turn may end this thread.
                logger.exception("watching for alerts failed, trying again", extra={"action": "alert"})
            wait = LOOK_SECONDS
        if self._held:
            self._database.submit(self._leave)

    def _leave(self) -> Turn:
        try:
            self._watch.leave()
        finally:
            connections[self._watch.using].close()
        return Turn(held=False)

    def _send(self) -> None:
        while not self._stop.is_set():
            self._wake.wait()
            self._wake.clear()
            if self._stop.is_set():
                return
            try:
                with self._sending:
                    outbox.send_due(using=self._watch.using)
            except Exception as error:
                if is_away(error):
                    logger.debug("messages wait for the database: %s", error, extra={"action": "alert"})
                else:
                    logger.exception("sending alerts failed, trying again", extra={"action": "alert"})
            finally:
                connections[self._watch.using].close()


class _Running:
    """The threads of this process, and which process that is: a forked child has none."""

    threads: WatchThreads | None = None
    process = 0


def watch(*, is_worker: bool = False) -> None:
    """Begins to watch in this process, unless it does. Call it where a web process begins, as at the end of wsgi.py.

    The process also ends, to be started again, when it has no descriptors left.

    Args:
        is_worker: whether the process is a worker, which leaves the seat to web processes.
    """
    watch_descriptors()
    if _Running.threads is None or _Running.process != os.getpid():
        made = Watch(using=router.db_for_write(Job), clock=SystemClock(), is_worker=is_worker)
        _Running.threads, _Running.process = WatchThreads(made), os.getpid()
        _Running.threads.start()


def unwatch() -> None:
    """Ends what :func:`watch` began; another process takes the seat."""
    threads, _Running.threads = _Running.threads, None
    if threads is not None:
        threads.stop()
