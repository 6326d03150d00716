"""CountingThread: counts for pages, beside the loader's turns, in the worker whose loader has the seat."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

from django.db import Error, connections

from tasksapp.maintenance.counter import Counter
from tasksapp.sql.driver.fork_guard import ForkGuard

logger = logging.getLogger(__name__)

#: How often it looks whether its loader has the seat, and whether something is due.
LOOK_SECONDS = 1.0


class CountingThread:
    """Runs the counter until it is stopped.

    Args:
        counter: what counts.
        holds_seat: whether the loader of this worker has the seat.
        using: the database.
    """

    def __init__(self, counter: Counter, *, holds_seat: Callable[[], bool], using: str) -> None:
        self._counter = counter
        self._holds_seat = holds_seat
        self._using = using
        self._stop = threading.Event()
        self._guard = ForkGuard()
        self._thread = threading.Thread(target=self._run, name="delayhub-counting", daemon=True)

    def start(self) -> None:
        """Begins as soon as the loader has the seat."""
        self._thread.start()

    def stop(self) -> None:
        """Ends after the work under way."""
        self._stop.set()
        self._thread.join(10.0)

    def run_once(self) -> bool:
        """Does what is due, where the loader has the seat; whether that succeeded. A failure is logged."""
        if not self._holds_seat():
            return True
        with self._guard:
            try:
                self._counter.run_once()
            except Error as error:
                logger.warning("jobs were not counted, trying again: %s", error, extra={"action": "count"})
            except Exception:
                # Pages need later counts, so no failure of one turn may end this thread.
                logger.exception("jobs were not counted, trying again", extra={"action": "count"})
            else:
                return True
            finally:
                connections[self._using].close()
        return False

    def _run(self) -> None:
        while not self._stop.wait(LOOK_SECONDS):
            self.run_once()
