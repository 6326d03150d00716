"""Retention: what has ended goes, after as long as its biz type wants it kept.

The loader's process sees to it by itself, a batch at a time: :class:`Purger`. ``manage.py purge_jobs`` does it at once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime

from delayhub.clock import Clock, moment
from tasksapp.conf import options
from tasksapp.models import BizType
from tasksapp.sql.purge_rows import BATCH_ROWS, Purged, count_old_jobs, count_old_keys, purge_jobs, purge_keys

#: Where nothing was left to delete, the next look comes after this long.
IDLE_SECONDS = 60.0
#: One turn deletes a second's worth at most, however long it was since the last.
TURN_SECONDS = 1.0


class Purger:
    """Deletes what may go, so many rows a minute at most; each turn is one :meth:`run_once`.

    Args:
        using: the database.
        clock: Redis' time, which retention is counted back from.
    """

    def __init__(self, *, using: str, clock: Clock) -> None:
        self._using = using
        self._clock = clock
        self._batches: Iterator[Purged] | None = None
        #: When the rows that were deleted are paid for, and when to look again.
        self._paid_at = 0.0

    def run_once(self) -> Purged:
        """What went in this turn: batches, until it has had its share or its time, or nothing is left."""
        rows_a_minute = options().purge_rows_per_minute
        began = self._clock.monotonic()
        if not rows_a_minute or began < self._paid_at:
            return Purged()
        gone, self._paid_at = Purged(), began
        if self._batches is None:
            now = moment(self._clock.now_ms())
            self._batches = purge(now=now, using=self._using, limit=min(rows_a_minute, BATCH_ROWS))
        while max(self._paid_at, self._clock.monotonic()) < began + TURN_SECONDS:
            batch = next(self._batches, None)
            if batch is None:
                # Also after an error, which ends the walk.
                self._batches, self._paid_at = None, max(self._paid_at, began + IDLE_SECONDS)
                break
            gone += batch
            self._paid_at += sum(batch) * 60 / rows_a_minute
        return gone


def purge(
    *, now: datetime, using: str, codes: Sequence[str] | None = None, limit: int = BATCH_ROWS
) -> Iterator[Purged]:
    """Deletes what may go, and yields after each committed batch what went in it.

    Args:
        now: the time that retention is counted back from.
        using: the database.
        codes: only jobs of these biz types, and no keys; None for everything.
        limit: jobs, or keys, of one batch.
    """
    for biz_type, before in _cuts(now=now, using=using, codes=codes):
        batch = Purged(limit)
        while batch.jobs == limit:
            batch = purge_jobs(biz_type.id, before=before, using=using, limit=limit)
            yield batch
    if codes is None:
        batch = Purged(keys=limit)
        while batch.keys == limit:
            batch = purge_keys(before=now, using=using, limit=limit)
            yield batch


def count_old(*, now: datetime, using: str, codes: Sequence[str] | None = None) -> dict[str, Purged]:
    """What would go, by biz type; keys under ''."""
    counts = {
        biz_type.code: count_old_jobs(biz_type.id, before=before, using=using)
        for biz_type, before in _cuts(now=now, using=using, codes=codes)
    }
    if codes is None:
        counts[""] = count_old_keys(before=now, using=using)
    return counts


def _cuts(*, now: datetime, using: str, codes: Sequence[str] | None) -> Iterator[tuple[BizType, datetime]]:
    biz_types = BizType.objects.using(using).filter(retention__isnull=False)
    for biz_type in biz_types if codes is None else biz_types.filter(code__in=codes):
        assert biz_type.retention is not None
        yield biz_type, now - biz_type.retention
