"""Retention: what has ended goes, after as long as its biz type wants it kept."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime

from tasksapp.models import BizType
from tasksapp.sql.purge_rows import BATCH_ROWS, Purged, count_old_jobs, count_old_keys, purge_jobs, purge_keys


def purge(*, now: datetime, using: str, codes: Sequence[str] | None = None) -> Iterator[Purged]:
    """Deletes what may go, and yields after each committed batch what went in it.

    Args:
        now: the time that retention is counted back from.
        using: the database.
        codes: only jobs of these biz types, and no keys; None for everything.
    """
    for biz_type, before in _cuts(now=now, using=using, codes=codes):
        batch = Purged(BATCH_ROWS)
        while batch.jobs == BATCH_ROWS:
            batch = purge_jobs(biz_type.id, before=before, using=using)
            yield batch
    if codes is None:
        batch = Purged(keys=BATCH_ROWS)
        while batch.keys == BATCH_ROWS:
            batch = purge_keys(before=now, using=using)
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
