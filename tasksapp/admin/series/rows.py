"""What the pages of a series show: its state in words, its occurrences to come, and its jobs so far."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from tasksapp.access.quotas import no_more_jobs, refusal_words
from tasksapp.admin.frame.fragments import address, badge, local_time, number
from tasksapp.errors import InvalidSeries
from tasksapp.models import Job, Series, Status
from tasksapp.models.error_class import error_class_label
from tasksapp.series.outlook import coming, words_of

#: Occurrences to come, and jobs so far, that a page shows.
COMING, PAST = 10, 25


def state_of(series: Series) -> SafeString:
    """A badge that says whether the series goes on."""
    if series.is_paused:
        who = series.paused_by
        return badge(_("paused by %(person)s") % {"person": who} if who else _("paused"), "paused")
    if not series.biz_type.enabled:
        return badge(_("biz type disabled"), "disabled")
    if series.next_occurrence_at is None:
        return badge(_("last one made"), "cancelled")
    return badge(_("active"), "flowing")


def words(series: Series) -> str:
    """What its schedule means, or why it stands still."""
    is_over = series.is_paused or series.next_occurrence_at is None
    if not is_over and (full := no_more_jobs(series.biz_type.tenant)) is not None:
        return _("It stands still: %(why)s") % {"why": refusal_words(full)}
    try:
        return words_of(series)
    except InvalidSeries as error:
        return _("It stands still: %(why)s") % {"why": error}


def next_of(series: Series, *, now: datetime) -> datetime | None:
    """Its next occurrence; None where there is none, or it is paused."""
    found = _coming(series, now=now, most=1)
    return found[0] if found else None


def coming_rows(series: Series, *, now: datetime, site: str) -> list[dict[str, Any]]:
    """The next occurrences, each with its job where there is one already."""
    found = _coming(series, now=now, most=COMING)
    there = Job.objects.filter(series_id=series.pk, occurrence_at__in=found).values_list(
        "occurrence_at", "id", "status"
    )
    jobs = {at: (job_id, status) for at, job_id, status in there}
    zone = ZoneInfo(series.time_zone)
    rows = []
    for at in found:
        job_id, status = jobs.get(at, (None, ""))
        rows.append(
            {
                "at": local_time(at, now=now),
                "there": at.astimezone(zone).strftime("%Y-%m-%d %H:%M:%S"),
                "url": address("tasksapp_job_change", job_id, site=site) if job_id else "",
                "status": Status(status).label if status else "",
            }
        )
    return rows


def past_rows(series: Series, *, now: datetime, site: str) -> list[dict[str, Any]]:
    """The jobs that it has made, the newest first, without those to come."""
    rows = Job.objects.filter(series_id=series.pk).defer("body", "raw").order_by("-id")[: PAST + COMING * 10]
    past = [job for job in rows if job.occurrence_at is None or job.occurrence_at <= now][:PAST]
    return [
        {
            "at": _("by hand") if job.occurrence_at is None else local_time(job.occurrence_at, now=now),
            "due": local_time(job.due_at, now=now),
            "status": badge(str(Status(job.status).label), job.status),
            "attempts": number(job.attempts),
            "error": error_class_label(job.error_class) if job.error_class else "",
            "url": address("tasksapp_job_change", job.pk, site=site),
            "id": job.pk,
        }
        for job in past
    ]


def _coming(series: Series, *, now: datetime, most: int) -> list[datetime]:
    if series.is_paused:
        return []
    try:
        return coming(series, after=now, most=most)
    except InvalidSeries:
        return []
