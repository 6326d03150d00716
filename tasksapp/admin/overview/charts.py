"""Upcoming jobs on the overview: drawn, and in words."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import NamedTuple

from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from tasksapp.admin.frame.fragments import number
from tasksapp.admin.frame.job_charts import coming_chart, time_label
from tasksapp.models import BizType
from tasksapp.stats.upcoming import DAY_SECONDS, Coming, read_upcoming


class Span(NamedTuple):
    """One way to look ahead: its name in the address, how far, and how many seconds a column has."""

    name: str
    hours: int
    seconds: int


SPANS = (Span("5m", 24, 300), Span("1h", 24, 3_600), Span("30d", 720, DAY_SECONDS))


class Ahead(NamedTuple):
    """Upcoming jobs, drawn; how many they are, and the greatest column in words."""

    drawn: SafeString
    jobs: str
    greatest: str


def span_of(name: str) -> Span:
    """The way to look ahead of that name; the first one for any other name."""
    return next((span for span in SPANS if span.name == name), SPANS[0])


def span_label(span: Span) -> str:
    """The name of a way to look ahead, for people."""
    return {"5m": _("5 min"), "1h": _("1 h"), "30d": _("30 d")}[span.name]


def ahead_view(span: Span, *, biz_types: Mapping[int, BizType], now: datetime) -> Ahead:
    """Return the jobs of the next day, or of 30 days, by when they are due; one query."""
    by_days = span.seconds == DAY_SECONDS
    stretches = read_upcoming(hours=span.hours, seconds=span.seconds, now=now)
    notes = [_most(stretch, biz_types) for stretch in stretches]
    top = max(range(len(stretches)), key=lambda place: stretches[place].jobs)
    greatest = ""
    if stretches[top].jobs:
        words = {
            "time": time_label(stretches[top].at, by_days=by_days),
            "jobs": number(stretches[top].jobs),
            "note": notes[top],
        }
        greatest = _("Most at %(time)s: %(jobs)s (%(note)s)") % words
    return Ahead(
        coming_chart(stretches, seconds=span.seconds, notes=notes),
        number(sum(stretch.jobs for stretch in stretches)),
        greatest,
    )


def _most(stretch: Coming, biz_types: Mapping[int, BizType]) -> str:
    """The biz type that has most of a stretch."""
    if stretch.biz_type_id is None or stretch.biz_type_id not in biz_types:
        return ""
    code = biz_types[stretch.biz_type_id].label
    if stretch.biz_types == 1:
        return _("all of %(biz_type)s") % {"biz_type": code}
    return _("%(jobs)s of them of %(biz_type)s") % {"biz_type": code, "jobs": number(stretch.most)}
