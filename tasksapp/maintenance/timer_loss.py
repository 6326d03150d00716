"""TimerLoss: finds out whether Redis has lost timers."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Any, NamedTuple
from uuid import uuid4

import redis

from delayhub.clock import Clock, now_by
from tasksapp.models import BizType
from tasksapp.sql.pending_rows import count_pending
from tasksapp.timers.lanes import client, patient_lane, patient_lanes

logger = logging.getLogger(__name__)

#: Timers and rows of the window are counted against each other this often.
COUNT_SECONDS = 60.0
#: Rows that are due so soon are not counted: their timers may be on their way to a worker.
COUNT_MARGIN = timedelta(seconds=30)


class RedisIdentity(NamedTuple):
    """Which Redis server this is, and since which start or flush of it; another one may lack timers.

    Args:
        run_id: another one after each start.
        replication_id: another one after a failover.
        epochs: for each lane the value of a key that goes with the timers, as when all keys are deleted.
    """

    run_id: str
    replication_id: str
    epochs: tuple[str | None, ...]


class TimerLoss:
    """Compares Redis with what it was, and its timers with the rows.

    Args:
        using: the database.
        clock: Redis' time.
    """

    def __init__(self, *, using: str, clock: Clock) -> None:
        self._using = using
        self._clock = clock
        self._seen: RedisIdentity | None = None
        self._confirmed: RedisIdentity | None = None
        self._count_at = 0.0

    def run_once(self, armed: Iterable[BizType], *, until: datetime | None) -> bool:
        """Whether timers may be missing. Raises what Redis or the database raise.

        Args:
            armed: biz types whose rows should have timers.
            until: the end of the window in which they should have them; None where nothing was loaded yet.
        """
        self._seen = _identity()
        return self._seen != self._confirmed or (until is not None and self._are_missing(armed, until=until))

    @property
    def epoch(self) -> str | None:
        """The epoch of the first lane's timers, as the last turn found it."""
        return self._seen.epochs[0] if self._seen is not None else None

    def confirm(self) -> None:
        """The Redis of the last turn has all timers now."""
        self._confirmed = self._seen

    def forget(self) -> None:
        """Another loader works from here on; after it no Redis is known to have all timers."""
        self._confirmed = None

    def _are_missing(self, armed: Iterable[BizType], *, until: datetime) -> bool:
        """Whether Redis holds fewer timers than the database has rows; False where they were counted lately."""
        if self._clock.monotonic() < self._count_at:
            return False
        self._count_at = self._clock.monotonic() + COUNT_SECONDS
        after = now_by(self._clock) + COUNT_MARGIN
        for biz_type in armed:
            rows = count_pending(biz_type.id, after=after, until=until, using=self._using)
            if rows and patient_lane(biz_type.timer_lane).count(biz_type.queue) < rows:
                logger.warning(
                    "Redis holds fewer timers of %s than there are rows",
                    biz_type.label,
                    extra={"action": "count", "rows": rows},
                )
                return True
        return False


def _identity() -> RedisIdentity:
    info: dict[str, Any] = {}
    # A section each, since Redis 6 takes no two; all of them are twenty times as much.
    for section in ("server", "replication"):
        with suppress(redis.ResponseError):  # a hosted Redis may hide it; the epochs and the count still show a loss
            info |= client().info(section)
    epochs = []
    for lane in patient_lanes():
        epoch = lane.client.get(lane.keys.epoch)
        if epoch is None:  # a full Redis refuses this also where there is one
            lane.client.set(lane.keys.epoch, uuid4().hex, nx=True)
            epoch = lane.client.get(lane.keys.epoch)
        epochs.append(epoch.decode() if isinstance(epoch, bytes) else epoch)
    return RedisIdentity(str(info.get("run_id", "")), str(info.get("master_replid", "")), tuple(epochs))
