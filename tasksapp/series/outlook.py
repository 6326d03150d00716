"""Preview: the next occurrences of a schedule that need not exist yet, and what it means in words."""

from __future__ import annotations

from datetime import datetime
from itertools import islice
from typing import Any, NamedTuple

from django.utils import timezone

from tasksapp.errors import InvalidSeries
from tasksapp.models import Series
from tasksapp.series.fields import SCHEDULE, check, values_of
from tasksapp.series.plan import schedule_of
from tasksapp.series.words import cron_words, interval_words, times_words

#: Occurrences that a preview shows at most.
MOST = 100


class Preview(NamedTuple):
    """What a schedule means.

    Args:
        words: a sentence, in the language that is active.
        occurrences: the next ones, in UTC, without jitter.
    """

    words: str
    occurrences: list[datetime]


def preview(*, most: int = 10, after: datetime | None = None, **fields: Any) -> Preview:
    """The next occurrences of a schedule, and what it means in words.

    Args:
        most: how many occurrences, 100 at most.
        after: only those after that moment; None for now.
        fields: those of a series that say when it runs: ``cron``, ``time_zone``, ``every``, ``times`` and so on.

    Raises InvalidSeries or InvalidJob.
    """
    for name in fields:
        if name not in SCHEDULE:
            raise InvalidSeries(name, "unknown", f"a preview takes no field {name!r}")
    if not 1 <= most <= MOST:
        raise InvalidSeries("most", "range", f"a preview shows 1 to {MOST} occurrences, got {most}")
    now = timezone.now()
    row = Series()
    for name, value in values_of(fields).items():
        setattr(row, name, value)
    check(row, now=now)
    return Preview(words_of(row), coming(row, after=after or now, most=most))


def coming(series: Series, *, after: datetime, most: int) -> list[datetime]:
    """The next occurrences of a series, whether or not it is paused. Raises InvalidSeries."""
    if series.count is not None:
        most = min(most, max(0, series.count - series.made))
    return list(islice(schedule_of(series).after(after), most))


def words_of(series: Series) -> str:
    """What the schedule of a series means. Raises InvalidSeries."""
    if series.cron:
        return cron_words(series.cron, time_zone=series.time_zone)
    return interval_words(series.every) if series.every is not None else times_words(len(series.times))
