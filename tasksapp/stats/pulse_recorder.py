"""PulseRecorder: adds what a process has counted to the pulses in the database, every few seconds and when it stops."""

from __future__ import annotations

import logging
import os
import random
import threading
from collections.abc import Mapping

from django.db import Error, IntegrityError, connections, router

from tasksapp.models import BizType, Job
from tasksapp.sql.add_pulses import BATCH_ROWS, PulseKey, add_pulses
from tasksapp.sql.driver.fork_guard import ForkGuard
from tasksapp.stats.pulse_counts import PulseCounts
from tasksapp.stats.pulses import FLUSH_SECONDS

logger = logging.getLogger(__name__)

#: Processes that start together do not write together.
_phase = random.Random()  # noqa: S311  spreads writes, guards nothing

_guard = ForkGuard()


class PulseRecorder:
    """Writes the counts of one process from a thread of its own."""

    def __init__(self) -> None:
        self.counts = PulseCounts()
        self._stop = threading.Event()
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Starts the thread, unless it runs; call it in a process that runs jobs, after a fork."""
        with self._lock:
            if self._thread is None:
                self._stop.clear()
                self._thread = threading.Thread(target=self._run, name="delayhub-pulses", daemon=True)
                self._thread.start()

    def stop(self) -> None:
        """Writes what is left, and ends the thread; nothing where it does not run."""
        with self._lock:
            thread, self._thread = self._thread, None
        if thread is not None:
            self._stop.set()
            thread.join(10.0)

    def run_once(self, *, using: str | None = None) -> int:
        """Writes all counts; how many counters that were. What cannot be written is kept for the next time.

        Args:
            using: the database; None for the one that jobs are written to.
        """
        using = using or router.db_for_write(Job)
        left, written = self.counts.take(), 0
        try:
            for batch in _batches(left):
                _add(batch, using=using)
                written += len(batch)
                for key in batch:
                    del left[key]
        except Error as error:
            logger.warning("numbers were not written, trying again: %s", error, extra={"action": "count"})
        finally:
            self.counts.put_back(left)
        return written

    def forget(self) -> None:
        """Begins from nothing: a forked child has its parent's counts, but not its thread."""
        self.__init__()  # type: ignore[misc]  # the only way to reset all of it alike

    def _run(self) -> None:
        wait = _phase.uniform(0, FLUSH_SECONDS)
        stopped = False
        while not stopped:
            stopped, wait = self._stop.wait(wait), FLUSH_SECONDS
            with _guard:
                try:
                    self.run_once()
                except Exception:
                    # Numbers of later minutes must come, so no failure of one turn may end this thread.
                    logger.exception("numbers were not written, trying again", extra={"action": "count"})
                finally:
                    connections.close_all()


def _batches(counts: Mapping[PulseKey, int]) -> list[dict[PulseKey, int]]:
    keys = sorted(counts)
    return [{key: counts[key] for key in keys[n : n + BATCH_ROWS]} for n in range(0, len(keys), BATCH_ROWS)]


def _add(batch: Mapping[PulseKey, int], *, using: str) -> None:
    try:
        add_pulses(batch, using=using)
    except IntegrityError:
        # A biz type that was deleted has no numbers.
        kept = set(BizType.objects.using(using).values_list("id", flat=True))
        add_pulses({key: count for key, count in batch.items() if key.biz_type_id in kept}, using=using)


#: What this process counts.
pulse_recorder = PulseRecorder()
os.register_at_fork(after_in_child=pulse_recorder.forget)
