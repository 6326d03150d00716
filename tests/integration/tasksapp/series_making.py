"""Makers of occurrences whose clock a test sets, and what they made."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from delayhub.clock import due_ms
from tasksapp.models import Job, Series
from tasksapp.series.maker import SeriesMaker
from tests.standing_clock import StandingClock

SECOND, MINUTE, HOUR = timedelta(seconds=1), timedelta(minutes=1), timedelta(hours=1)


class At:
    """Makers whose clock a test sets."""

    def __init__(self) -> None:
        self.clock = StandingClock()
        self.maker = SeriesMaker(using="default", clock=self.clock)

    def __call__(self, now: datetime) -> int:
        """What a turn at that moment makes."""
        self.clock.seconds = due_ms(now) / 1000
        return self.maker.run_once().made


def occurrences(series: Series, **which: Any) -> list[datetime]:
    """The occurrences that have a job, in order."""
    rows = Job.objects.filter(series=series, occurrence_at__isnull=False, **which).order_by("occurrence_at")
    return list(rows.values_list("occurrence_at", flat=True))
