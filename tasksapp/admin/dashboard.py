"""The dashboard on the admin's first page: the jobs of each biz type."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.urls import reverse
from django.utils import timezone
from django.utils.safestring import SafeString

from tasksapp.admin.fragments import badge, job_count, jobs_link, local_time
from tasksapp.models import Status
from tasksapp.stats.counts import FARTHEST, JobCounts, count_jobs


@dataclass(frozen=True, slots=True)
class DashboardRow:
    """One biz type on the dashboard."""

    code: str
    url: str
    state: SafeString
    pending: SafeString
    overdue: str
    running: SafeString
    dead: SafeString
    next_due: SafeString


def dashboard(*, site: str) -> dict[str, Any]:
    """What the dashboard's template shows: a row for each biz type, the time zone, and where counts end.

    Args:
        site: the name of the admin site that its links lead to.
    """
    now = timezone.now()
    return {
        "rows": [_row(found, site=site, now=now) for found in count_jobs(now=now)],
        "zone": timezone.get_current_timezone_name(),
        "farthest": FARTHEST,
    }


def _row(found: JobCounts, *, site: str, now: datetime) -> DashboardRow:
    biz_type = found.biz_type
    state = "disabled" if not biz_type.enabled else "paused" if biz_type.is_paused else "open"
    return DashboardRow(
        code=biz_type.code,
        url=reverse("admin:tasksapp_biztype_change", args=[biz_type.pk], current_app=site),
        state=badge(state, state),
        pending=jobs_link(biz_type, Status.PENDING, found.pending, site=site),
        overdue=job_count(found.overdue),
        running=jobs_link(biz_type, Status.RUNNING, found.running, site=site),
        dead=jobs_link(biz_type, Status.DEAD, found.dead, site=site),
        next_due=local_time(found.next_due, now=now),
    )
