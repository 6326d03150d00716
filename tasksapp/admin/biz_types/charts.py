"""The charts of one biz type: its attempts of the last day, and its jobs of the next."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from django.utils import timezone
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from tasksapp.admin.frame.charts import Series, chart
from tasksapp.admin.frame.fragments import duration
from tasksapp.models import BizType
from tasksapp.stats.pulses import TEN_MINUTES, floor, read_series
from tasksapp.stats.upcoming import Arrivals

DAY = timedelta(days=1)
#: How many labels the axis has.
LABELS = 5


def past_chart(biz_type: BizType, *, now: datetime) -> SafeString:
    """The attempts of the last 24 hours by ten minutes, and how late they began; '' where there were none."""
    until = floor(now, TEN_MINUTES) + timedelta(seconds=TEN_MINUTES)
    points = read_series(biz_type_id=biz_type.pk, since=until - DAY, until=until, step_seconds=TEN_MINUTES)
    if not any(point.succeeded or point.failed for point in points):
        return SafeString("")
    late = Series(
        name=_("lateness, 99 in 100 within"),
        kind="late",
        values=[point.lateness_p99_ms for point in points],
        shown=lambda ms: duration(ms=ms),
    )
    labels = [_label(point.at) for point in points]
    return chart(
        labels,
        name=_("Attempts of the last 24 hours"),
        bars=[
            Series(name=_("done"), kind="done", values=[point.succeeded for point in points]),
            Series(name=_("failed"), kind="failed", values=[point.failed for point in points]),
        ],
        lines=[late],
        caption=_axis(labels),
    )


def next_chart(arrivals: Sequence[Arrivals], *, now: datetime) -> SafeString:
    """The pending jobs of the next 24 hours by ten minutes; '' where there are none."""
    begin, step = floor(now, TEN_MINUTES), timedelta(seconds=TEN_MINUTES)
    values: list[int] = [0] * (DAY // step)
    for arrival in arrivals:
        place = max(0, (arrival.first_at - begin) // step)
        if place < len(values):
            values[place] += arrival.jobs
    if not any(values):
        return SafeString("")
    labels = [_label(begin + number * step) for number in range(len(values))]
    return chart(
        labels,
        name=_("Jobs due in the next 24 hours"),
        bars=[Series(name=_("jobs due"), kind="coming", values=values)],
        caption=_axis(labels),
    )


def _label(at: datetime) -> str:
    return f"{timezone.localtime(at):%H:%M}"


def _axis(labels: Sequence[str]) -> list[str]:
    last = len(labels) - 1
    return [labels[round(last * part / (LABELS - 1))] for part in range(LABELS)]
