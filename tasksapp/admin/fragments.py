"""Pieces of HTML that several pages of the admin show."""

from __future__ import annotations

import json
from contextlib import suppress
from datetime import datetime

from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.timesince import timesince, timeuntil

from tasksapp.models import UNTIL_RESUMED, BizType, Status
from tasksapp.stats import counts


def badge(text: str, kind: str) -> SafeString:
    """A coloured word; the style sheet has a colour for each kind."""
    return format_html('<span class="delayhub-badge delayhub-{}">{}</span>', kind, text)


def biz_type_state(biz_type: BizType) -> SafeString:
    """Badges: whether its jobs run (open, paused or disabled), and whether its callbacks are not signed."""
    state = _state(biz_type)
    return format_html("{} {}", state, badge("unsigned", "unsigned")) if biz_type.is_unsigned else state


def local_time(value: datetime | None, *, now: datetime | None = None) -> SafeString:
    """A time in the current zone and its distance from now; a dash for None."""
    if value is None:
        return format_html('<span class="delayhub-quiet">{}</span>', "-")
    now = now or timezone.now()
    away = f"in {timeuntil(value, now, depth=1)}" if value > now else f"{timesince(value, now, depth=1)} ago"
    local = timezone.localtime(value)
    return format_html(
        '<time datetime="{}">{}</time> <span class="delayhub-quiet">{}</span>',
        value.isoformat(),
        local.strftime("%Y-%m-%d %H:%M:%S"),
        away,
    )


def indented_json(text: str) -> SafeString:
    """JSON, indented; any other text unchanged."""
    with suppress(ValueError):
        text = json.dumps(json.loads(text), indent=2, ensure_ascii=False)
    return format_html('<pre class="delayhub-body">{}</pre>', text)


def job_count(count: int) -> str:
    """A count that ended at ``FARTHEST``: there are at least as many."""
    return f"{count}+" if count >= counts.FARTHEST else str(count)


def jobs_link(biz_type: BizType, status: Status, count: int, *, site: str) -> SafeString:
    """A count with a link to the list of the jobs that it counts, on the admin site of that name."""
    if not count:
        return format_html('<span class="delayhub-quiet">{}</span>', 0)
    url = reverse("admin:tasksapp_job_changelist", current_app=site)
    return format_html(
        '<a href="{}?biz_type__id__exact={}&amp;status__exact={}">{}</a>', url, biz_type.pk, status, job_count(count)
    )


def _state(biz_type: BizType) -> SafeString:
    if not biz_type.enabled:
        return badge("disabled", "disabled")
    if not biz_type.is_paused:
        return badge("open", "open")
    ends = biz_type.paused_until
    if ends is None or ends >= UNTIL_RESUMED:
        return badge("paused", "paused")
    return badge(f"paused until {timezone.localtime(ends):%Y-%m-%d %H:%M}", "paused")
