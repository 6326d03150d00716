"""Upcoming: how many jobs run when, in the hours and days ahead, as the loader counted them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from django.db.models import F, QuerySet
from django.db.models.functions import Coalesce
from django.utils import timezone

from tasksapp.models import Upcoming
from tasksapp.stats.pulses import floor

#: The loader counts the next day by five minutes, and the next 30 days by days.
FINE_SECONDS, FINE_HOURS = 300, 24
DAY_SECONDS, DAYS = 86_400, 30


class UpcomingBucket(NamedTuple):
    """The jobs that run in one stretch of time.

    Args:
        at: when it begins.
        seconds: how long it is.
        jobs_by_biz_type: how many jobs, by the id of their biz type; none for those that have none.
    """

    at: datetime
    seconds: int
    jobs_by_biz_type: dict[int, int]

    @property
    def jobs(self) -> int:
        """All of them."""
        return sum(self.jobs_by_biz_type.values())


def read_upcoming(*, hours: int, biz_type_id: int | None = None, using: str | None = None) -> list[UpcomingBucket]:
    """The stretches of the hours ahead, empty ones too: of five minutes up to a day ahead, else of a day.

    Days begin at midnight of the project's time zone, and have 24 hours.

    Args:
        hours: how far ahead.
        biz_type_id: only the jobs of this biz type.
        using: the database.
    """
    now = timezone.now()
    if hours <= FINE_HOURS:
        seconds, begin, stretches = FINE_SECONDS, floor(now, FINE_SECONDS), -(-hours * 3_600 // FINE_SECONDS)
    else:
        seconds, begin, stretches = DAY_SECONDS, day_begins(now), min(DAYS, -(-hours // 24))
    found: dict[datetime, dict[int, int]] = {begin + timedelta(seconds=n * seconds): {} for n in range(stretches)}
    rows = Upcoming.objects.using(using).filter(span_seconds=seconds, at__in=list(found))
    if biz_type_id is not None:
        rows = rows.filter(biz_type_id=biz_type_id)
    for at, key, jobs in rows.values_list("at", "biz_type_id", "jobs"):
        found[at][key] = jobs
    return [UpcomingBucket(at, seconds, jobs) for at, jobs in found.items()]


def day_begins(now: datetime) -> datetime:
    """Midnight of today, in the project's time zone."""
    local = timezone.localtime(now, timezone.get_default_timezone())
    return local.replace(hour=0, minute=0, second=0, microsecond=0).astimezone(UTC)


class Arrivals(NamedTuple):
    """The jobs of one biz type that run in one stretch of time, and when the first and the last of them do."""

    jobs: int
    first_at: datetime
    last_at: datetime


def read_arrivals(*, biz_type_id: int | None = None, using: str | None = None) -> dict[int, list[Arrivals]]:
    """The jobs of the next day by the id of their biz type, in the order of their times."""
    rows: QuerySet[Upcoming] = Upcoming.objects.using(using).filter(span_seconds=FINE_SECONDS, jobs__gt=0)
    if biz_type_id is not None:
        rows = rows.filter(biz_type_id=biz_type_id)
    found: dict[int, list[Arrivals]] = {}
    # Plain columns: with 200 biz types these are 57 600 rows, and a model of each takes four times as long.
    columns = rows.order_by(F("first_at").asc(nulls_last=True), "at").values_list(
        "biz_type_id", "jobs", Coalesce("first_at", "at"), "last_at"
    )
    for key, jobs, first, last in columns:
        end = last or first + timedelta(seconds=FINE_SECONDS)
        found.setdefault(key, []).append(Arrivals(jobs, first, end))
    return found
