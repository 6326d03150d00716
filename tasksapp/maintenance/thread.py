"""MaintenanceThread: the turns of the loader, the operations and the purger, in a worker's main process."""

from __future__ import annotations

import logging
import threading

import redis
from django.db import Error, connections

from tasksapp.conf import options
from tasksapp.maintenance.loader import Loader
from tasksapp.maintenance.operation_turns import OperationTurns
from tasksapp.maintenance.purger import Purger
from tasksapp.sql.driver.fork_guard import ForkGuard
from tasksapp.sql.purge_rows import Purged

logger = logging.getLogger(__name__)

#: After a failed turn the next one waits this long.
FAILED_SECONDS = 2.0


class MaintenanceThread:
    """Runs turns until it is stopped. No process is forked in the middle of one.

    Args:
        loader: its turns decide whether this worker has the seat; only then do operations go on, and does it purge.
    """

    def __init__(self, loader: Loader) -> None:
        self._loader = loader
        self._purger = Purger(using=loader.using, clock=loader.clock)
        self._operations = OperationTurns(using=loader.using, clock=loader.clock)
        self._stop = threading.Event()
        self._guard = ForkGuard()
        self._thread = threading.Thread(target=self._run, name="delayhub-maintenance", daemon=True)

    @property
    def is_loader(self) -> bool:
        """Whether its loader had the seat in its last turn."""
        return self._loader.held

    @property
    def last_purge(self) -> tuple[int, Purged]:
        """When its last turn that deleted anything was, by Redis' time in Unix ms, and what it deleted."""
        return self._purger.last

    def start(self) -> None:
        """Begins with a turn at once."""
        self._thread.start()

    def stop(self) -> None:
        """Ends after the turn under way, and gives the seat to another loader."""
        self._stop.set()
        self._thread.join(10.0)

    def run_once(self) -> bool:
        """One turn; whether it succeeded. A failure is logged, and the next turn does what this one did not."""
        with self._guard:
            try:
                if self._loader.run_once().held:
                    self._operations.run_once()
                    self._purger.run_once()
            except (Error, redis.RedisError, OSError) as error:
                logger.warning("the loader's turn failed, trying again: %s", error, extra={"action": "load"})
            except Exception:
                # Without the loader nothing is mended any more, so no failure of one turn may end this thread.
                logger.exception("the loader's turn failed, trying again", extra={"action": "load"})
            else:
                return True
            self._close_connection()
            return False

    def _run(self) -> None:
        wait = 0.0
        while not self._stop.wait(wait):
            wait = options().sweep_seconds if self.run_once() else FAILED_SECONDS
        try:
            self._loader.resign()
        except (redis.RedisError, OSError):
            logger.debug("the loader's seat will be free when its lease ends")
        self._close_connection()

    def _close_connection(self) -> None:
        connections[self._loader.using].close()
