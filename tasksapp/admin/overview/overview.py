"""The overview: how jobs fare at this moment, what comes, what was, what failed, and what people did."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any
from urllib.parse import urlencode

from django.core.paginator import Paginator
from django.http import HttpRequest
from django.utils import timezone
from django.utils.translation import gettext as _

from tasksapp.admin.alerts.alert_admin import alert_rows, open_alerts
from tasksapp.admin.audit.words import deed_label
from tasksapp.admin.frame.delivery_banner import banner, has_redis, health_of, marks
from tasksapp.admin.frame.fragments import (
    Tile,
    address,
    clock_time,
    duration,
    jobs_address,
    listed,
    number,
    percent,
    time_away,
)
from tasksapp.admin.frame.job_charts import past_chart
from tasksapp.admin.frame.requests import site_name
from tasksapp.admin.overview.biz_type_rows import LATE, Standing, Urgency, biz_type_rows, standings
from tasksapp.admin.overview.charts import SPANS, ahead_view, span_label, span_of
from tasksapp.admin.overview.issue_rows import issue_rows
from tasksapp.biz_types.holds import open_breakers, without_puller
from tasksapp.models import AuditEntry, BizType, Operation
from tasksapp.stats.counts import Counts, read_counts
from tasksapp.stats.issues import open_issues
from tasksapp.stats.pulses import PulseSummary, summaries

#: Biz types that are shown at first, where not more of them are urgent, and those that one page of all shows.
FEW_BIZ_TYPES, BIZ_TYPES_SHOWN = 8, 25
#: Issues and alerts that are shown.
ISSUES_SHOWN = 5
ALERTS_SHOWN = 5
#: Biz types that one sentence names.
NAMED = 3
#: So great a share of attempts that fail is marked.
FAILING = 0.05
#: Parameters of the address: how far to look ahead, and which page of all biz types; without it, few of them are shown.
AHEAD, BIZ_TYPES_PAGE = "ahead", "biz_types"
#: Lines on the overview.
SHOWN = 8


def overview(request: HttpRequest) -> dict[str, Any]:
    """What the overview's template shows."""
    site, now = site_name(request), timezone.now()
    health = health_of(request)
    counts = read_counts()
    total, by_biz_type = summaries()
    biz_types = {biz_type.pk: biz_type for biz_type in BizType.objects.select_related("tenant").order_by("code")}
    breakers = open_breakers(biz_types.values()) if has_redis(health) else None
    issues, alerts = open_issues(biz_types=biz_types), open_alerts()
    every = standings(biz_types.values(), counts=counts, breakers=breakers, now=now)
    few, wants_all = _few(every), BIZ_TYPES_PAGE in request.GET
    page = Paginator(every, BIZ_TYPES_SHOWN if wants_all else few).get_page(request.GET.get(BIZ_TYPES_PAGE))
    span = span_of(request.GET.get(AHEAD, ""))
    return {
        "banner": banner(request),
        "marks": marks(health),
        "late": _late_sentence(every, counts=counts),
        "alerts": alert_rows(alerts[:ALERTS_SHOWN], has_messages=False, site=site, now=now),
        "more_alerts": max(0, len(alerts) - ALERTS_SHOWN),
        "alerts_url": address("tasksapp_alert_changelist", site=site),
        "tiles": _tiles(counts, total, died_today=sum(issue.today for issue in issues), site=site, now=now),
        "ahead": ahead_view(span, biz_types=biz_types, now=now),
        "spans": [(span_label(each), _query(request, {AHEAD: each.name}), each == span) for each in SPANS],
        "past": past_chart(now=now),
        "issues": issue_rows(issues[:ISSUES_SHOWN], request=request, site=site, breakers=breakers, now=now),
        "issue_count": number(len(issues)),
        "more_issues": max(0, len(issues) - ISSUES_SHOWN),
        "issues_url": address("tasksapp_deadcount_changelist", site=site),
        "page": page,
        "rows": biz_type_rows(
            page,
            counts=counts,
            summaries=by_biz_type,
            breakers=breakers,
            lonely=without_puller(each.biz_type for each in page),
            site=site,
            now=now,
        ),
        "hidden": 0 if wants_all else len(every) - len(page),
        "show_all": _query(request, {BIZ_TYPES_PAGE: 1}),
        "show_few": _query(request, {BIZ_TYPES_PAGE: None}) if wants_all and len(every) > few else "",
        "earlier": _query(request, {BIZ_TYPES_PAGE: page.number - 1}) if page.has_previous() else "",
        "later": _query(request, {BIZ_TYPES_PAGE: page.number + 1}) if page.has_next() else "",
        "may_add": request.user.has_perm("tasksapp.add_biztype"),
        "add_url": address("tasksapp_biztype_add", site=site),
        "operations": open_operations(request, site=site),
        "lately": recent_lines(request, site=site, now=now),
        "sees_audit": request.user.has_perm("tasksapp.view_auditentry"),
        "audit_url": address("tasksapp_auditentry_changelist", site=site),
        "counted_at": "" if counts.as_of is None else clock_time(counts.as_of),
        "counts_end": "" if counts.bound is None else number(counts.bound),
        "zone": timezone.get_current_timezone_name(),
        "live_url": _live_url(request, site=site),
    }


def _few(every: Sequence[Standing]) -> int:
    """How many biz types are shown at first: those whose jobs do not go out, and others where these are few."""
    urgent = sum(each.urgency <= Urgency.HELD for each in every)
    return min(max(urgent, FEW_BIZ_TYPES), BIZ_TYPES_SHOWN)


def _late_sentence(every: Sequence[Standing], *, counts: Counts) -> str:
    """Which biz types are late; '' while none is."""
    late = [each for each in every if each.is_late and each.urgency in {Urgency.LATE, Urgency.DOWN}]
    if not late:
        return ""
    words = {
        "biz_types": listed(each.code for each in late[:NAMED]),
        "more": number(len(late) - NAMED),
        "jobs": number(sum(counts.of(each.biz_type.pk).due_now for each in late), bound=counts.bound),
    }
    if len(late) > NAMED:
        return _("Late: %(biz_types)s and %(more)s more; %(jobs)s jobs are due.") % words
    return _("Late: %(biz_types)s; %(jobs)s jobs are due.") % words


def _tiles(counts: Counts, recent: PulseSummary, *, died_today: int, site: str, now: datetime) -> list[Tile]:
    total, bound = counts.total, counts.bound
    oldest = total.oldest_due_at if total.due_now else None
    waits = None if oldest is None else now - oldest
    p99 = recent.lateness_p99_ms
    return [
        Tile(
            label=_("Due now"),
            value=number(total.due_now, bound=bound),
            note=_("the oldest for %(time)s") % {"time": duration(seconds=waits.total_seconds())} if waits else "",
            url=jobs_address(site=site, tab="due"),
            tone="warning" if waits and waits > LATE else "",
        ),
        Tile(label=_("Running"), value=number(total.running), url=jobs_address(site=site, tab="running")),
        Tile(label=_("Done per minute"), value=number(round(recent.done_per_minute)), note=_("in the last 5 minutes")),
        Tile(
            label=_("Attempts that fail"),
            value=percent(recent.failing_share),
            note=_("in the last 5 minutes"),
            tone="bad" if (recent.failing_share or 0) >= FAILING else "",
        ),
        Tile(
            label=_("Lateness, half within"),
            value=duration(ms=recent.lateness_p50_ms),
            note="" if p99 is None else _("99 in 100 within %(time)s") % {"time": duration(ms=p99)},
            tone="warning" if p99 is not None and p99 > LATE.total_seconds() * 1000 else "",
        ),
        Tile(
            label=_("Dead"),
            value=number(total.dead, bound=bound),
            note=_("+%(number)s today") % {"number": number(died_today)} if died_today else _("none today"),
            url=jobs_address(site=site, tab="dead"),
            tone="bad" if died_today else "",
        ),
    ]


def _query(request: HttpRequest, changed: dict[str, Any]) -> str:
    """The address of this page with other values for some of its parameters, and without those that are None."""
    kept = {name: request.GET[name] for name in (AHEAD, BIZ_TYPES_PAGE) if name in request.GET}
    return f"?{urlencode({name: value for name, value in {**kept, **changed}.items() if value is not None})}"


def _live_url(request: HttpRequest, *, site: str) -> str:
    """Where the part of the page is had that refreshes itself; '' where a site does not have it."""
    url = address("tasksapp_deadcount_overview", site=site)
    return url and url + _query(request, {}).removesuffix("?")


def recent_lines(request: HttpRequest, *, site: str, now: datetime) -> list[dict[str, Any]]:
    """The last deeds, the newest first; none for a person who may not see the audit."""
    if not request.user.has_perm("tasksapp.view_auditentry"):
        return []
    return [_line(entry, site=site, now=now) for entry in AuditEntry.objects.order_by("-id")[:SHOWN]]


def open_operations(request: HttpRequest, *, site: str) -> list[dict[str, Any]]:
    """The operations that are counted, wait for their start or run; none for a person who may not see them."""
    if not request.user.has_perm("tasksapp.view_operation"):
        return []
    states = [Operation.State.PLANNING, Operation.State.PLANNED, Operation.State.RUNNING]
    found = Operation.objects.filter(state__in=states).select_related("biz_type__tenant").order_by("-id")
    return [_operation(operation, site=site) for operation in found[:SHOWN]]


def _line(entry: AuditEntry, *, site: str, now: datetime) -> dict[str, Any]:
    words = {"actor": entry.actor, "deed": deed_label(entry.verb), "what": entry.what or _short(entry)}
    return {
        "text": _("%(actor)s: %(deed)s, %(what)s") % words if words["what"] else _("%(actor)s: %(deed)s") % words,
        "reason": entry.reason,
        "at": clock_time(entry.at),
        "away": time_away(entry.at, now=now),
        "url": _where(entry, site=site),
    }


def _where(entry: AuditEntry, *, site: str) -> str:
    pages: Iterable[tuple[str, object]] = (
        ("tasksapp_operation_change", entry.operation_id),
        ("tasksapp_job_change", entry.job_id),
        ("tasksapp_biztype_change", entry.biz_type_id),
    )
    return next((address(page, key, site=site) for page, key in pages if key is not None), "")


def _short(entry: AuditEntry) -> str:
    if entry.operation_id is not None:
        return _("operation %(number)s") % {"number": entry.operation_id}
    return "" if entry.job_id is None else _("job %(id)s") % {"id": str(entry.job_id)[-12:]}


def _operation(operation: Operation, *, site: str) -> dict[str, Any]:
    planned, code = operation.planned or 0, operation.biz_type.label if operation.biz_type else ""
    words = {
        "verb": operation.get_verb_display(),
        "biz_type": code or _("all biz types"),
        "actor": operation.started_by,
        "state": operation.get_state_display(),
    }
    return {
        "text": _("%(verb)s, %(biz_type)s, by %(actor)s: %(state)s") % words,
        "done": operation.done,
        "planned": planned,
        "progress": _("%(done)s of %(planned)s") % {"done": number(operation.done), "planned": number(planned)},
        "url": address("tasksapp_operation_change", operation.pk, site=site),
    }
