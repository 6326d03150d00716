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
from tasksapp.series.maker import SeriesMaker
from tasksapp.sql.driver.fork_guard import ForkGuard
from tasksapp.sql.first_jobs import database_now_ms
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
        # Every worker makes occurrences, since that needs no Redis.
        self._series = SeriesMaker(using=loader.using, clock=loader.clock)
        self._has_more = False
        self._stop = threading.Event()
        self._guard = ForkGuard()
        self._thread = threading.Thread(target=self._run, name="delayhub-maintenance", daemon=True)

    @property
    def is_loader(self) -> bool:
        """Whether its loader had the seat in its last turn."""
        return self._loader.holds_seat

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
            self._has_more = False
            has_made = self._make_series()
            try:
                turn = self._loader.run_once()
                if turn.operations:
                    self._operations.run_once()
                if turn.held:
                    self._purger.run_once()
            except (Error, redis.RedisError, OSError) as error:
                logger.warning("the loader's turn failed, trying again: %s", error, extra={"action": "load"})
            except Exception:
                # Without the loader nothing is mended any more, so no failure of one turn may end this thread.
                logger.exception("the loader's turn failed, trying again", extra={"action": "load"})
            else:
                return has_made
            self._close_connection()
            return False

    def _make_series(self) -> bool:
        """Makes occurrences; whether that succeeded. It comes first, and also where the loader's turn fails."""
        try:
            if not self._loader.clock.sync() and not self._loader.clock.is_set:
                # Never by the clock of this machine: it may be minutes ahead.
                self._loader.clock.set(database_now_ms(using=self._loader.using))
            work = self._loader.look()
            known = {} if work is None else {"has_due": work.series, "has_live": work.live_jobs}
            self._has_more = self._series.run_once(**known).has_more
        except Exception as error:
            # Nothing of it may keep the loader from its turn.
            level = logging.WARNING if isinstance(error, Error) else logging.ERROR
            logger.log(level, "making the jobs of series failed, trying again: %s", error, extra={"action": "series"})
            self._close_connection()
            return False
        return True

    def _run(self) -> None:
        wait = 0.0
        while not self._stop.wait(wait):
            wait = options().sweep_seconds if self.run_once() else FAILED_SECONDS
            if self._has_more:
                wait = 0.0
        try:
            self._loader.resign()
        except (redis.RedisError, OSError):
            logger.debug("the loader's seat will be free when its lease ends")
        self._close_connection()

    def _close_connection(self) -> None:
        connections[self._loader.using].close()
