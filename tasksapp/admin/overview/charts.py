"""The two charts of the overview: what comes, and what was."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

from django.utils import timezone
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from tasksapp.admin.frame.charts import Series, chart
from tasksapp.admin.frame.fragments import clock_time, duration, number
from tasksapp.models import BizType
from tasksapp.stats.limit_peaks import LimitPeak, limit_peaks
from tasksapp.stats.pulses import TEN_MINUTES, floor, read_series
from tasksapp.stats.upcoming import DAY_SECONDS, Arrivals, read_arrivals, read_upcoming

#: Sentences about peaks that are shown.
PEAKS_SHOWN = 3


class Span(NamedTuple):
    """One way to look ahead: its name in the address, how far, and how many seconds a column has."""

    name: str
    hours: int
    seconds: int


SPANS = (Span("5m", 24, 300), Span("1h", 24, 3_600), Span("30d", 720, DAY_SECONDS))


class Ahead(NamedTuple):
    """What comes, drawn; how many jobs that is, the greatest column in words, and the peaks that limits make late."""

    drawn: SafeString
    jobs: str
    greatest: str
    peaks: list[str]


def span_of(name: str) -> Span:
    """The way to look ahead of that name; the first one for any other name."""
    return next((span for span in SPANS if span.name == name), SPANS[0])


def span_label(span: Span) -> str:
    """The name of a way to look ahead, for people."""
    return {"5m": _("5 min"), "1h": _("1 h"), "30d": _("30 d")}[span.name]


def ahead_view(span: Span, *, biz_types: Mapping[int, BizType], now: datetime) -> Ahead:
    """The jobs of the next day, by when they are due and against the limits, or those of the next month; one query."""
    if span.seconds < DAY_SECONDS:
        arrivals = read_arrivals()
        peaks = limit_peaks(biz_types.values(), arrivals=arrivals, now=now)
        return _drawn(_columns(arrivals, span, now=now), span, biz_types, peaks=peaks)
    # Stretches of days are those of UTC, as the loader counts them.
    days = [_Column(day.at, day.jobs_by_biz_type) for day in read_upcoming(hours=span.hours)]
    return _drawn(days, span, biz_types, peaks=[])


def past_chart(*, now: datetime) -> SafeString:
    """The attempts of the last day, by ten minutes, and how late they began."""
    until = floor(now, TEN_MINUTES) + timedelta(seconds=TEN_MINUTES)
    points = read_series(biz_type_id=None, since=until - timedelta(days=1), until=until, step_seconds=TEN_MINUTES)
    labels = [_label(point.at) for point in points]
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


class _Column(NamedTuple):
    at: datetime
    by_biz_type: dict[int, int]


def _columns(arrivals: Mapping[int, Sequence[Arrivals]], span: Span, *, now: datetime) -> list[_Column]:
    """The stretches of the next hours, empty ones too."""
    begin = floor(now, span.seconds)
    length = timedelta(seconds=span.seconds)
    columns = [_Column(begin + place * length, {}) for place in range(span.hours * 3_600 // span.seconds)]
    for biz_type_id, stretches in arrivals.items():
        for stretch in stretches:
            place = max(0, (stretch.first_at - begin) // length)
            if place < len(columns):
                found = columns[place].by_biz_type
                found[biz_type_id] = found.get(biz_type_id, 0) + stretch.jobs
    return columns


def _drawn(
    columns: Sequence[_Column], span: Span, biz_types: Mapping[int, BizType], *, peaks: Sequence[LimitPeak]
) -> Ahead:
    is_days = span.seconds >= DAY_SECONDS
    values = [sum(column.by_biz_type.values()) for column in columns]
    labels = [f"{column.at:%Y-%m-%d}" if is_days else _label(column.at) for column in columns]
    notes = [_most(column, biz_types) for column in columns]
    top = max(range(len(values)), key=values.__getitem__, default=0)
    greatest = ""
    if values and values[top]:
        words = {"time": labels[top], "jobs": number(values[top]), "note": notes[top]}
        greatest = _("Most at %(time)s: %(jobs)s (%(note)s)") % words
    title = _("Jobs due in the next 30 days") if is_days else _("Jobs due in the next 24 hours")
    coming = Series(name=_("jobs due"), kind="coming", values=values)
    drawn = chart(labels, name=title, bars=[coming], notes=notes, caption=_axis(labels))
    return Ahead(drawn, number(sum(values)), greatest, [_peak_sentence(peak) for peak in peaks[:PEAKS_SHOWN]])


def _peak_sentence(peak: LimitPeak) -> str:
    words = {
        "jobs": number(peak.jobs),
        "biz_type": peak.biz_type.code,
        "time": clock_time(peak.at),
        "limit": f"{peak.per_second:,.10g}",
        "wait": duration(seconds=peak.wait.total_seconds()),
    }
    if peak.done_at is None:
        return _("%(jobs)s of %(biz_type)s at %(time)s: with its limit of %(limit)s/s not done within a day.") % words
    words["done"] = clock_time(peak.done_at)
    return (
        _("%(jobs)s of %(biz_type)s at %(time)s: with its limit of %(limit)s/s done at %(done)s, %(wait)s late.")
        % words
    )


def _most(column: _Column, biz_types: Mapping[int, BizType]) -> str:
    """The biz type that has most of a column."""
    if not column.by_biz_type:
        return ""
    greatest = max(column.by_biz_type, key=column.by_biz_type.__getitem__)
    if greatest not in biz_types:
        return ""
    words = {"biz_type": biz_types[greatest].code, "jobs": number(column.by_biz_type[greatest])}
    if len(column.by_biz_type) == 1:
        return _("all of %(biz_type)s") % words
    return _("%(jobs)s of them of %(biz_type)s") % words


def _label(at: datetime) -> str:
    return f"{timezone.localtime(at):%H:%M}"


def _axis(labels: Sequence[str]) -> list[str]:
    """Five labels, evenly spread."""
    if len(labels) < 5:
        return list(labels)
    last = len(labels) - 1
    return [labels[round(last * part / 4)] for part in range(5)]
