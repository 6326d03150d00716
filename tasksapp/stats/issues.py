"""Issues: the dead jobs, grouped by their biz type and the kind of their error."""

from __future__ import annotations

from collections import Counter, defaultdict
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from django.db.models import OuterRef, QuerySet, Subquery, Sum
from django.utils import timezone

from tasksapp.models import BizType, DeadCount, Job, Pulse, Status
from tasksapp.stats.pulses import HOUR, MINUTE, lately, settled_until

#: The share of attempts that fail is of the last so many minutes.
RECENT_MINUTES = 15


class Issue(NamedTuple):
    """The dead jobs of one biz type that failed alike.

    Args:
        biz_type: the biz type.
        error_class: the kind of their error; '' for jobs that died before kinds were noted.
        dead: how many there are.
        first_at: when the first of those that are left died.
        last_at: when the last of them died.
        today: how many died since midnight of the current time zone, also of those that were redriven since.
        failing_share: which share of the biz type's recent attempts failed in this way; None where there were none.
        sample_job_id: the one that died last.
    """

    biz_type: BizType
    error_class: str
    dead: int
    first_at: datetime | None
    last_at: datetime | None
    today: int
    failing_share: float | None
    sample_job_id: UUID | None


def open_issues(*, biz_type_id: int | None = None, using: str | None = None) -> list[Issue]:
    """All groups of dead jobs, the latest first, as the loader counted them last.

    Args:
        biz_type_id: only those of this biz type.
        using: the database.
    """
    newest = Job.objects.filter(
        biz_type=OuterRef("biz_type"), error_class=OuterRef("error_class"), status=Status.DEAD
    ).order_by("-finished_at")
    counts = DeadCount.objects.using(using).filter(dead__gt=0).select_related("biz_type")
    if biz_type_id is not None:
        counts = counts.filter(biz_type_id=biz_type_id)
    rows = list(counts.annotate(sample_job_id=Subquery(newest.values("id")[:1])).order_by("-last_at", "-dead"))
    if not rows:
        return []
    today = _died_today(biz_type_id, using=using)
    attempts, failed = _recent_attempts(biz_type_id, using=using)
    return [
        Issue(
            row.biz_type,
            row.error_class,
            row.dead,
            row.first_at,
            row.last_at,
            today[row.biz_type_id, row.error_class],
            failed[row.biz_type_id, row.error_class] / attempts[row.biz_type_id] if attempts[row.biz_type_id] else None,
            row.sample_job_id,
        )
        for row in rows
    ]


def _died_today(biz_type_id: int | None, *, using: str | None) -> Counter[tuple[int, str]]:
    now = timezone.localtime()
    midnight = now.replace(hour=0, minute=0, second=0, microsecond=0)
    settled = max(midnight, settled_until(HOUR, now=now))
    died = _pulses(biz_type_id, using=using).filter(kind=Pulse.Kind.DEAD)
    by_class = [
        rows.values_list("biz_type_id", "key").annotate(Sum("count"))
        for rows in (
            died.filter(span_seconds=HOUR, at__gte=midnight, at__lt=settled),
            died.filter(span_seconds=MINUTE, at__gte=settled),
        )
    ]
    found = Counter[tuple[int, str]]()
    # Two ranges of the index: an OR of both is planned as a walk over the whole table.
    for biz_type, error_class, count in by_class[0].union(by_class[1], all=True):
        found[biz_type, error_class] += count
    return found


def _recent_attempts(biz_type_id: int | None, *, using: str | None) -> tuple[dict[int, int], Counter[tuple[int, str]]]:
    """Recent attempts by biz type, and the failed ones by biz type and error class."""
    since, _ = lately(RECENT_MINUTES)
    kinds = [Pulse.Kind.SUCCEEDED, Pulse.Kind.FAILED]
    rows = _pulses(biz_type_id, using=using).filter(span_seconds=MINUTE, at__gte=since, kind__in=kinds)
    attempts: dict[int, int] = defaultdict(int)
    failed = Counter[tuple[int, str]]()
    for biz_type, kind, key, count in rows.values_list("biz_type_id", "kind", "key").annotate(Sum("count")):
        attempts[biz_type] += count
        if kind == Pulse.Kind.FAILED:
            failed[biz_type, key] += count
    return attempts, failed


def _pulses(biz_type_id: int | None, *, using: str | None) -> QuerySet[Pulse]:
    rows = Pulse.objects.using(using).order_by()
    return rows if biz_type_id is None else rows.filter(biz_type_id=biz_type_id)
