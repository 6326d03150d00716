"""``{% delayhub_dashboard %}``: how the jobs of each biz type fare."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django import template
from django.db.models import QuerySet
from django.urls import reverse
from django.utils import timezone
from django.utils.safestring import SafeString

from tasksapp.admin.badges import badge, moment
from tasksapp.admin.biz_type_admin import jobs_link
from tasksapp.models import BizType, Job, Status

register = template.Library()

#: No count goes further, so that the page stays fast whatever waits.
FARTHEST = 10_000


@dataclass(frozen=True, slots=True)
class Row:
    """One biz type on the dashboard."""

    code: str
    url: str
    state: SafeString
    pending: SafeString
    overdue: str
    running: SafeString
    dead: SafeString
    next_due: SafeString


@register.inclusion_tag("tasksapp/admin/dashboard.html")
def delayhub_dashboard() -> dict[str, Any]:
    """Every biz type with its counts, bounded, and what is due next."""
    zone = timezone.get_current_timezone_name()
    return {"rows": [_row(found) for found in BizType.objects.order_by("code")], "zone": zone, "farthest": FARTHEST}


def _row(biz_type: BizType) -> Row:
    now = timezone.now()
    jobs = Job.objects.filter(biz_type=biz_type)
    pending = jobs.filter(status=Status.PENDING)
    first = pending.order_by("next_run_at").values_list("next_run_at", flat=True).first()
    state = "disabled" if not biz_type.enabled else "paused" if biz_type.is_paused else "open"
    return Row(
        code=biz_type.code,
        url=reverse("admin:tasksapp_biztype_change", args=[biz_type.pk]),
        state=badge(state, state),
        pending=jobs_link(biz_type, Status.PENDING, _count(pending)),
        overdue=str(_count(pending.filter(next_run_at__lt=now))),
        running=jobs_link(biz_type, Status.RUNNING, _count(jobs.filter(status=Status.RUNNING))),
        dead=jobs_link(biz_type, Status.DEAD, _count(jobs.filter(status=Status.DEAD))),
        next_due=moment(first, now=now),
    )


def _count(rows: QuerySet[Job]) -> int:
    return rows.order_by()[:FARTHEST].count()
