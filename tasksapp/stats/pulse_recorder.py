"""PulseRecorder: counts what a process does, and adds it to the pulses every few seconds and when it stops."""

from __future__ import annotations

import logging
import os
import random
import threading
from collections import defaultdict
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import NamedTuple

from django.db import Error, IntegrityError, connections, router

from delayhub.clock import moment
from tasksapp.models import BizType, Job, Pulse
from tasksapp.sql.driver.fork_guard import ForkGuard
from tasksapp.sql.pulses import BATCH_ROWS, PulseKey, add_pulses
from tasksapp.stats.histogram import bucket_of
from tasksapp.stats.pulses import FLUSH_SECONDS

logger = logging.getLogger(__name__)

#: Counters that are kept while the database is away; then the oldest minute is lost.
MOST_COUNTERS = 50_000
_MINUTE_MS = 60_000

# Plain strings: a member of an enum takes Python 0.2 µs to hash.
_SUCCEEDED, _FAILED, _DEAD = (kind.value for kind in (Pulse.Kind.SUCCEEDED, Pulse.Kind.FAILED, Pulse.Kind.DEAD))
_LATENESS, _DURATION = Pulse.Kind.LATENESS.value, Pulse.Kind.DURATION.value
_BUSY = Pulse.Kind.BUSY.value


class Ended(NamedTuple):
    """An attempt that has ended.

    Args:
        biz_type_id: whose.
        error_class: the kind of its failure; '' where it succeeded.
        is_dead: whether its job is dead.
        lateness_ms: how late it began.
        duration_ms: how long it took.
    """

    biz_type_id: int
    error_class: str
    is_dead: bool
    lateness_ms: int
    duration_ms: int


class PulseCounts:
    """Counters of the minutes that are not written yet; several threads add to them."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        #: By minute and biz type: by kind and key, how often.
        self._minutes: dict[tuple[int, int], dict[tuple[str, int | str], int]] = {}

    def add(self, attempts: Iterable[Ended], *, now_ms: int) -> None:
        """Counts attempts that ended now."""
        minute = now_ms // _MINUTE_MS
        with self._lock:
            last: int | None = None
            for biz_type_id, error_class, is_dead, lateness_ms, duration_ms in attempts:
                if biz_type_id != last:
                    last, counts = biz_type_id, self._minutes.setdefault((minute, biz_type_id), defaultdict(int))
                counts[(_FAILED, error_class) if error_class else (_SUCCEEDED, "")] += 1
                counts[_LATENESS, bucket_of(lateness_ms)] += 1
                counts[_DURATION, bucket_of(duration_ms)] += 1
                counts[_BUSY, ""] += duration_ms
                if is_dead:
                    counts[_DEAD, error_class] += 1

    def add_deaths(self, deaths: Iterable[tuple[int, str]], *, now_ms: int) -> None:
        """Counts jobs that died without an attempt: the ids of their biz types, and why."""
        with self._lock:
            for biz_type_id, error_class in deaths:
                counts = self._minutes.setdefault((now_ms // _MINUTE_MS, biz_type_id), defaultdict(int))
                counts[_DEAD, error_class] += 1

    def take(self) -> dict[PulseKey, int]:
        """Everything that was counted; from here on it is the caller's."""
        with self._lock:
            minutes, self._minutes = self._minutes, {}
        at: dict[int, datetime] = {minute: moment(minute * _MINUTE_MS) for minute, _ in minutes}
        return {
            PulseKey(at[minute], biz_type_id, kind, str(key)): count
            for (minute, biz_type_id), counts in minutes.items()
            for (kind, key), count in counts.items()
        }

    def put_back(self, counts: Mapping[PulseKey, int]) -> None:
        """Takes back what could not be written; the oldest minutes are lost where that is too much."""
        with self._lock:
            for key, count in counts.items():
                minute = round(key.at.timestamp()) // 60
                known = self._minutes.setdefault((minute, key.biz_type_id), defaultdict(int))
                is_bucket = key.kind in (_LATENESS, _DURATION)
                known[key.kind, int(key.key) if is_bucket else key.key] += count
            while sum(map(len, self._minutes.values())) > MOST_COUNTERS:
                oldest = min(minute for minute, _ in self._minutes)
                logger.warning("the numbers of a minute are lost: the database is away", extra={"action": "count"})
                self._minutes = {place: kept for place, kept in self._minutes.items() if place[0] != oldest}


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
