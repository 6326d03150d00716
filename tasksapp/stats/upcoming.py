"""Upcoming: how many jobs run when, in the hours and days ahead, as the loader counted them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from django.db import router
from django.utils import timezone

from tasksapp.models import Upcoming
from tasksapp.sql.upcoming import sum_upcoming
from tasksapp.stats.pulses import floor

#: The loader counts the next day by five minutes, and the next 30 days by days.
FINE_SECONDS, FINE_HOURS = 300, 24
DAY_SECONDS, DAYS = 86_400, 30


class Coming(NamedTuple):
    """The jobs that run in one stretch of time.

    Args:
        at: when it begins.
        jobs: how many there are.
        biz_types: how many biz types they have.
        biz_type_id: the biz type that has most of them; None where there are no jobs.
        most: how many it has.
    """

    at: datetime
    jobs: int = 0
    biz_types: int = 0
    biz_type_id: int | None = None
    most: int = 0


def read_upcoming(
    *, hours: int, seconds: int, now: datetime | None = None, biz_type_id: int | None = None
) -> list[Coming]:
    """The stretches of the hours ahead, empty ones too, from the one in which now lies; one query.

    Days begin at midnight of the project's time zone; where clocks change, one has 23 or 25 hours.

    Args:
        hours: how far ahead: up to a day, or up to 30 days by days.
        seconds: how long a stretch is: five minutes or a multiple of them, or a day.
        now: the present; None for what the clock says.
        biz_type_id: only the jobs of this biz type.
    """
    now, step = now or timezone.now(), timedelta(seconds=seconds)
    by_days = seconds == DAY_SECONDS
    stretches = min(hours, DAYS * 24 if by_days else FINE_HOURS) * 3_600 // seconds
    if by_days:
        begins = days_from(now, days=stretches)
    else:
        begins = [floor(now, seconds) + number * step for number in range(stretches + 1)]
    found = {
        row.number: Coming(begins[row.number], row.jobs, row.biz_types, row.biz_type_id, row.most)
        for row in sum_upcoming(
            # No day begins half a day from where it would without a change of clocks.
            begin=begins[0] - step / 2 if by_days else begins[0],
            end=begins[-1],
            seconds=seconds,
            counted_by=DAY_SECONDS if by_days else FINE_SECONDS,
            using=router.db_for_read(Upcoming),
            biz_type_id=biz_type_id,
        )
    }
    return [found.get(number) or Coming(begins[number]) for number in range(stretches)]


def day_begins(now: datetime) -> datetime:
    """Midnight of today, in the project's time zone."""
    local = timezone.localtime(now, timezone.get_default_timezone())
    return local.replace(hour=0, minute=0, second=0, microsecond=0).astimezone(UTC)


def days_from(now: datetime, *, days: int = DAYS) -> list[datetime]:
    """When today and the days after it begin, and when the last of them ends."""
    begin, day = day_begins(now), timedelta(days=1)
    return [begin, *(day_begins(begin + number * day + day / 2) for number in range(1, days + 1))]
