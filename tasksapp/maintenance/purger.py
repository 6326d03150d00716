"""Purger: deletes jobs that ended longer ago than their biz type wants them kept, old keys and old audit.

The worker whose loader has the seat does it by itself, a batch at a time; ``manage.py purge_jobs`` does it at once.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from datetime import datetime, timedelta
from typing import Any

from django.db.models import QuerySet

from delayhub.clock import Clock, now_by
from tasksapp.conf import options
from tasksapp.jobs.called_off import call_off_old
from tasksapp.models import AnswerLink, BizType, MissingFollowUp
from tasksapp.sql.ordered_keys import prune_ordered_keys
from tasksapp.sql.purge_rows import (
    BATCH_ROWS,
    Purged,
    count_old_jobs,
    old_entries,
    old_keys,
    purge,
    purge_jobs,
    purge_left,
)
from tasksapp.sql.tombstones import prune_tombstones

#: Where nothing was left to delete, the next look comes after this long.
IDLE_SECONDS = 60.0
#: One turn deletes a second's worth at most, however long ago the last one was.
TURN_SECONDS = 1.0


class Purger:
    """Deletes what is older than its retention.

    Args:
        using: the database.
        clock: Redis' time, which retention is counted back from.
        only: only jobs of the biz types with these ids, and neither keys nor audit; None for everything.
    """

    def __init__(self, *, using: str, clock: Clock, only: Collection[int] | None = None) -> None:
        self._using = using
        self._clock = clock
        self._only = only
        self._batches: Iterator[Purged] | None = None
        #: When the rate allows the next rows, in monotonic seconds.
        self._next_at = 0.0
        #: Of what is kept beside jobs, the row that the last look for what was left ended with.
        self._looked_at: dict[type[AnswerLink | MissingFollowUp], int] = {AnswerLink: 0, MissingFollowUp: 0}
        #: Redis' time, Unix ms, of the last turn that deleted anything, and what it deleted.
        self.last: tuple[int, Purged] = 0, Purged()

    def run_once(self) -> Purged:
        """What was deleted in this turn: as much as the rate allows, a second of it at most."""
        rows_a_minute = options().purge_rows_per_minute
        began = self._clock.monotonic()
        if not rows_a_minute or began < self._next_at:
            return Purged()
        gone, self._next_at = Purged(), began
        if self._batches is None:
            self._batches = self.batches(limit=min(rows_a_minute, BATCH_ROWS))
        while max(self._next_at, self._clock.monotonic()) < began + TURN_SECONDS:
            batch = next(self._batches, None)
            if batch is None:
                # Also after an error, which ends the iterator.
                self._batches, self._next_at = None, max(self._next_at, began + IDLE_SECONDS)
                break
            gone += batch
            self._next_at += sum(batch) * 60 / rows_a_minute
        if sum(gone):
            self.last = self._clock.now_ms(), gone
        return gone

    def batches(self, *, limit: int = BATCH_ROWS) -> Iterator[Purged]:
        """Deletes everything that is old enough, and yields after each committed batch what was deleted.

        Args:
            limit: jobs, or keys, of one batch.
        """
        now = now_by(self._clock)
        for biz_type, before in self._cuts(now):
            batch = Purged(limit)
            while batch.jobs == limit:
                batch = purge_jobs(
                    biz_type.id, before=before, using=self._using, limit=limit, keeps_dead=_keeps_dead(biz_type)
                )
                yield batch
        for name, rows in self._others(now).items():
            while gone := purge(rows, limit=limit):
                yield Purged(**{name: gone})
        if self._only is None:
            while call_off_old(before=now, using=self._using, limit=limit):
                yield Purged()
            while pruned := prune_tombstones(before=now, using=self._using, limit=limit):
                yield Purged(tombstones=pruned)
            while prune_ordered_keys(most=limit, using=self._using):
                yield Purged()
            for model, after in self._looked_at.items():
                self._looked_at[model] = purge_left(model, after=after, using=self._using, limit=limit)

    def count(self) -> dict[str, Purged]:
        """What would be deleted, by biz type; keys and entries under ''."""
        now = now_by(self._clock)
        counts = {
            biz_type.label: count_old_jobs(
                biz_type.id, before=before, using=self._using, keeps_dead=_keeps_dead(biz_type)
            )
            for biz_type, before in self._cuts(now)
        }
        if others := self._others(now):
            counts[""] = Purged(**{name: rows.count() for name, rows in others.items()})
        return counts

    def _others(self, now: datetime) -> dict[str, QuerySet[Any]]:
        """What is old enough beside jobs, as ``Purged`` names it."""
        if self._only is not None:
            return {}
        found: dict[str, QuerySet[Any]] = {"keys": old_keys(before=now, using=self._using)}
        if days := options().audit_days:
            found["entries"] = old_entries(before=now - timedelta(days=days), using=self._using)
        return found

    def _cuts(self, now: datetime) -> Iterator[tuple[BizType, datetime]]:
        """Each biz type that limits how long its jobs are kept, and until when those must have ended."""
        biz_types = BizType.objects.using(self._using).select_related("tenant").filter(retention__isnull=False)
        for biz_type in biz_types if self._only is None else biz_types.filter(id__in=self._only):
            assert biz_type.retention is not None
            yield biz_type, now - biz_type.retention


def _keeps_dead(biz_type: BizType) -> bool:
    """Whether a dead job blocks its flow key until a person decides about it, or order would end in silence."""
    return biz_type.ordered == BizType.Ordered.BLOCKS
