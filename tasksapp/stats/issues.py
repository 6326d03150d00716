"""Issues: the dead jobs, grouped by their biz type and the kind of their error."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import NamedTuple
from uuid import UUID

from django.db.models import OuterRef, Subquery, Sum
from django.utils import timezone

from tasksapp.models import BizType, DeadCount, Job, Pulse, Status
from tasksapp.stats.pulses import HOUR, MINUTE, floor, lately, settled_until

#: The share of attempts that fail is of the last so many minutes.
RECENT_MINUTES = 15


class Issue(NamedTuple):
    """The dead jobs of one biz type that failed alike.

    Args:
        biz_type: the biz type.
        error_class: the kind of their error.
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


def open_issues(
    *,
    biz_type_id: int | None = None,
    biz_types: Mapping[int, BizType] | None = None,
) -> list[Issue]:
    """All groups of dead jobs, the latest first, as the loader counted them last; three queries at most.

    Args:
        biz_type_id: only those of this biz type.
        biz_types: all biz types by their ids, where they are known; None to read those that are needed.
    """
    newest = Job.objects.filter(
        biz_type=OuterRef("biz_type"), error_class=OuterRef("error_class"), status=Status.DEAD
    ).order_by("-finished_at")
    counts = DeadCount.objects.filter(dead__gt=0)
    if biz_type_id is not None:
        counts = counts.filter(biz_type_id=biz_type_id)
    rows = list(counts.annotate(sample_job_id=Subquery(newest.values("id")[:1])).order_by("-last_at", "-dead"))
    if not rows:
        return []
    if biz_types is None:
        biz_types = BizType.objects.select_related("tenant").in_bulk({row.biz_type_id for row in rows})
    pulses = _pulses(biz_type_id)
    return [
        Issue(
            biz_types[row.biz_type_id],
            row.error_class,
            row.dead,
            row.first_at,
            row.last_at,
            pulses.today[row.biz_type_id, row.error_class],
            pulses.failing_share(row.biz_type_id, row.error_class),
            row.sample_job_id,
        )
        for row in rows
        if row.biz_type_id in biz_types  # one that was deleted meanwhile takes its issues with it
    ]


@dataclass(slots=True)
class _Pulses:
    """What was counted of attempts: deaths of today and recent failures by biz type and error class."""

    today: Counter[tuple[int, str]] = field(default_factory=Counter)
    failed: Counter[tuple[int, str]] = field(default_factory=Counter)
    attempts: Counter[int] = field(default_factory=Counter)

    def failing_share(self, biz_type_id: int, error_class: str) -> float | None:
        attempts = self.attempts[biz_type_id]
        return self.failed[biz_type_id, error_class] / attempts if attempts else None


def _pulses(biz_type_id: int | None) -> _Pulses:
    now, (recent, _) = timezone.localtime(), lately(RECENT_MINUTES)
    midnight = now.replace(hour=0, minute=0, second=0, microsecond=0)
    settled = max(midnight, settled_until(HOUR, now=now))
    # Where a zone's midnight lies within an hour of UTC, as in India, no sum is of the part that is left of that.
    whole = min(settled, floor(midnight + timedelta(seconds=HOUR - MINUTE), HOUR))
    rows = Pulse.objects.order_by()
    if biz_type_id is not None:
        rows = rows.filter(biz_type_id=biz_type_id)
    hours, minutes = rows.filter(span_seconds=HOUR), rows.filter(span_seconds=MINUTE)
    # Ranges of indexes: an OR of them is planned as a walk over the whole table.
    ranges = [
        each.values_list("biz_type_id", "kind", "key").annotate(Sum("count"))
        for each in (
            hours.filter(kind=Pulse.Kind.DEAD, at__gte=whole, at__lt=settled),
            minutes.filter(kind=Pulse.Kind.DEAD, at__gte=midnight, at__lt=whole),
            minutes.filter(kind=Pulse.Kind.DEAD, at__gte=settled),
            minutes.filter(kind__in=[Pulse.Kind.SUCCEEDED, Pulse.Kind.FAILED], at__gte=recent),
        )
    ]
    found = _Pulses()
    for biz_type, kind, error_class, count in ranges[0].union(*ranges[1:], all=True):
        if kind == Pulse.Kind.DEAD:
            found.today[biz_type, error_class] += count
            continue
        found.attempts[biz_type] += count
        if kind == Pulse.Kind.FAILED:
            found.failed[biz_type, error_class] += count
    return found
