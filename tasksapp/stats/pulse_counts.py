"""PulseCounts: what this process has counted and not written yet."""

from __future__ import annotations

import logging
import threading
from collections import defaultdict
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import NamedTuple

from delayhub.clock import moment
from tasksapp.models import Pulse
from tasksapp.sql.add_pulses import PulseKey
from tasksapp.stats.histogram import bucket_of

logger = logging.getLogger(__name__)

#: An attempt that begins so late had to wait for others: a drain is under way.
DRAIN_MS = 1_000
#: Counters that are kept while the database is away; then the oldest minute is lost.
MOST_COUNTERS = 50_000
_MINUTE_MS = 60_000

# Plain strings: a member of an enum takes Python 0.2 µs to hash.
_SUCCEEDED, _FAILED, _DEAD = (kind.value for kind in (Pulse.Kind.SUCCEEDED, Pulse.Kind.FAILED, Pulse.Kind.DEAD))
_LATENESS, _DURATION = Pulse.Kind.LATENESS.value, Pulse.Kind.DURATION.value
_BUSY, _HELD, _DRAIN = Pulse.Kind.BUSY.value, Pulse.Kind.HELD.value, Pulse.Kind.DRAIN.value


class Ended(NamedTuple):
    """An attempt that has ended.

    Args:
        biz_type_id: whose.
        error_class: the kind of its failure; '' where it succeeded.
        is_dead: whether its job is dead.
        lateness_ms: how late it began.
        duration_ms: how long it took.
        held_ms: how long its job was claimed, until its outcome was written.
    """

    biz_type_id: int
    error_class: str
    is_dead: bool
    lateness_ms: int
    duration_ms: int
    held_ms: int


class PulseCounts:
    """Counters of the minutes that are not written yet; several threads add to them."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        #: By minute and biz type: by kind and key, how often.
        self._minutes: dict[tuple[int, int], dict[tuple[str, int | str], int]] = {}

    def add(self, attempts: Iterable[Ended], *, now_ms: int) -> None:
        """Counts attempts that ended now."""
        minute, within = divmod(now_ms, _MINUTE_MS)
        second = within // 1_000
        with self._lock:
            for biz_type_id, error_class, is_dead, lateness_ms, duration_ms, held_ms in attempts:
                counts = self._minutes.get((minute, biz_type_id))
                if counts is None:
                    counts = self._minutes[minute, biz_type_id] = defaultdict(int)
                counts[(_FAILED, error_class) if error_class else (_SUCCEEDED, "")] += 1
                counts[_LATENESS, bucket_of(lateness_ms)] += 1
                counts[_DURATION, bucket_of(duration_ms)] += 1
                counts[_BUSY, ""] += duration_ms
                counts[_HELD, ""] += held_ms
                if lateness_ms >= DRAIN_MS:
                    counts[_DRAIN, second] += 1
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
                is_bucket = key.kind in (_LATENESS, _DURATION, _DRAIN)
                known[key.kind, int(key.key) if is_bucket else key.key] += count
            while sum(map(len, self._minutes.values())) > MOST_COUNTERS:
                oldest = min(minute for minute, _ in self._minutes)
                logger.warning("the numbers of a minute are lost: the database is away", extra={"action": "count"})
                self._minutes = {place: kept for place, kept in self._minutes.items() if place[0] != oldest}
