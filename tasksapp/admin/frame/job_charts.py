"""Charts of jobs, of one biz type or of all: the attempts of the last day, and the jobs that come."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from django.utils import timezone
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from tasksapp.admin.frame.charts import Series, chart
from tasksapp.admin.frame.fragments import duration
from tasksapp.models import BizType
from tasksapp.stats.pulses import MINUTE, TEN_MINUTES, PulsePoint, floor, read_series, settled_until
from tasksapp.stats.upcoming import DAY_SECONDS, Coming, read_upcoming

#: How many labels the axis has.
LABELS = 5
#: Points whose time is over, by the minute in which they were read; they are kept until it ends. To sum those of a day
#: takes the database 40 ms with 50 biz types, and each open overview asks every few seconds.
settled_points: dict[tuple[datetime, int | None, datetime], list[PulsePoint]] = {}


def past_chart(*, now: datetime, biz_type_id: int | None = None) -> SafeString:
    """The attempts of the last 24 hours by ten minutes, and how late they began; '' where there were none; one query.

    Args:
        now: the present.
        biz_type_id: only the attempts of this biz type.
    """
    until = floor(now, TEN_MINUTES) + timedelta(seconds=TEN_MINUTES)
    points = _points_of_day(biz_type_id, until=until, now=now)
    if not any(point.succeeded or point.failed for point in points):
        return SafeString("")
    labels = [time_label(point.at) for point in points]
    return chart(
        labels,
        name=_("Attempts of the last 24 hours"),
        bars=[
            Series(name=_("done"), kind="done", values=[point.succeeded for point in points]),
            Series(name=_("failed"), kind="failed", values=[point.failed for point in points]),
        ],
        lines=[
            Series(
                name=_("lateness, 99 in 100 within"),
                kind="late",
                values=[point.lateness_p99_ms for point in points],
                shown=lambda ms: duration(ms=ms),
            )
        ],
        caption=_axis(labels),
    )


def _points_of_day(biz_type_id: int | None, *, until: datetime, now: datetime) -> list[PulsePoint]:
    settled = settled_until(TEN_MINUTES, now=now)
    key = (floor(now, MINUTE), biz_type_id, until)
    known = settled_points.get(key)
    since = until - timedelta(days=1) if known is None else settled
    points = read_series(biz_type_id=biz_type_id, since=since, until=until, step_seconds=TEN_MINUTES)
    if known is None:
        for other in [each for each in settled_points if each[0] != key[0]]:
            settled_points.pop(other, None)
        settled_points[key] = [point for point in points if point.at < settled]
    return points if known is None else known + points


def next_chart(biz_type: BizType, *, now: datetime) -> SafeString:
    """The pending jobs of one biz type in the next 24 hours by ten minutes; '' where there are none; one query."""
    stretches = read_upcoming(hours=24, seconds=TEN_MINUTES, now=now, biz_type_id=biz_type.pk)
    return coming_chart(stretches, seconds=TEN_MINUTES)


def coming_chart(stretches: Sequence[Coming], *, seconds: int, notes: Sequence[str] = ()) -> SafeString:
    """The jobs that come, by stretches of so many seconds; '' where there are none.

    Args:
        stretches: the stretches, empty ones too.
        seconds: how long each is.
        notes: what else is to be said of each, '' for nothing.
    """
    values = [stretch.jobs for stretch in stretches]
    if not any(values):
        return SafeString("")
    by_days = seconds == DAY_SECONDS
    labels = [time_label(stretch.at, by_days=by_days) for stretch in stretches]
    return chart(
        labels,
        name=_("Jobs due in the next 30 days") if by_days else _("Jobs due in the next 24 hours"),
        bars=[Series(name=_("jobs due"), kind="coming", values=values)],
        notes=notes,
        caption=_axis(labels),
    )


def time_label(at: datetime, *, by_days: bool = False) -> str:
    """What a column of a chart stands for: the time at which it begins, or the day, in the project's zone."""
    if by_days:
        return f"{timezone.localtime(at, timezone.get_default_timezone()):%Y-%m-%d}"
    return f"{timezone.localtime(at):%H:%M}"


def _axis(labels: Sequence[str]) -> list[str]:
    """Some labels, evenly spread."""
    last = len(labels) - 1
    return [labels[round(last * part / (LABELS - 1))] for part in range(LABELS)]
