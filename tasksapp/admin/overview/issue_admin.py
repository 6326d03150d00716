"""Issues in the admin: dead jobs, grouped by biz type and kind of error; and the overview's part that refreshes."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import urlencode

from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from tasksapp.admin.frame.delivery_banner import banner, has_redis, health_of
from tasksapp.admin.frame.fragments import number
from tasksapp.admin.frame.own_page import PageEntry, at, fragment_page, own_page
from tasksapp.admin.overview.issue_rows import issue_rows, samples
from tasksapp.admin.overview.overview import overview
from tasksapp.biz_types.holds import open_breakers
from tasksapp.biz_types.stranded import stranded
from tasksapp.models.error_class import error_class_label
from tasksapp.stats.issues import Issue, open_issues

#: Issues on one page.
SHOWN = 25
#: Values of the filter ``died``.
TIMES = {"hour": timedelta(hours=1), "day": timedelta(days=1), "week": timedelta(days=7)}
FILTERS = ("biz_type", "error_class", "died")


class IssueAdmin(PageEntry):
    """The issues. They are counted by the loader; people change the jobs, not the counts."""

    permission = "tasksapp.view_job"

    @at("overview/")
    def overview_view(self, request: HttpRequest) -> HttpResponse:
        """The overview without the page around it. Raises PermissionDenied for people who may not see jobs."""
        self.require_view(request)
        request.current_app = self.admin_site.name
        return fragment_page(request, template="tasksapp/admin/overview.html", context=overview(request))

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        """The issues that the address asks for. Raises PermissionDenied for people who may not see jobs."""
        self.require_view(request)
        request.current_app = self.admin_site.name
        return own_page(
            request,
            site=self.admin_site,
            template="tasksapp/admin/issues.html",
            fragment="tasksapp/admin/issue_list.html",
            title=_("Issues"),
            context={**self._listed(request), **(extra_context or {})},
        )

    def _listed(self, request: HttpRequest) -> dict[str, Any]:
        now = timezone.now()
        chosen = {name: request.GET.get(name, "") for name in FILTERS}
        every = open_issues()
        found = _filtered(every, chosen, now=now)
        page = Paginator(found, SHOWN).get_page(request.GET.get("page"))
        issues: Sequence[Issue] = list(page)
        biz_types = {issue.biz_type.label: issue.biz_type for issue in issues}
        breakers = open_breakers(biz_types.values()) if has_redis(health_of(request)) else None
        shown = samples([issue.sample_job_id for issue in issues if issue.sample_job_id], request=request)
        rows = issue_rows(issues, request=request, site=self.admin_site.name, breakers=breakers, samples=shown, now=now)
        return {
            "issues": rows,
            "stranded": stranded(),
            "summary": _summary(found),
            "page": page,
            "earlier": _query(chosen, page=page.number - 1) if page.has_previous() else "",
            "later": _query(chosen, page=page.number + 1) if page.has_next() else "",
            "codes": sorted({issue.biz_type.label for issue in every}),
            "error_classes": sorted({(issue.error_class, error_class_label(issue.error_class)) for issue in every}),
            "times": [("hour", _("in the last hour")), ("day", _("in the last day")), ("week", _("in the last week"))],
            "chosen": chosen,
            "is_filtered": any(chosen.values()),
            "banner": banner(request),
        }


def _filtered(issues: Sequence[Issue], chosen: dict[str, str], *, now: datetime) -> list[Issue]:
    span = TIMES.get(chosen["died"])
    return [
        issue
        for issue in issues
        if chosen["biz_type"] in {"", issue.biz_type.label}
        and chosen["error_class"] in {"", issue.error_class}
        and (span is None or (issue.last_at is not None and issue.last_at >= now - span))
    ]


def _summary(issues: Sequence[Issue]) -> str:
    dead, kinds = sum(issue.dead for issue in issues), len(issues)
    jobs = ngettext("%(jobs)s dead job", "%(jobs)s dead jobs", dead) % {"jobs": number(dead)}
    return ngettext("%(dead)s of %(kinds)s kind", "%(dead)s of %(kinds)s kinds", kinds) % {
        "dead": jobs,
        "kinds": number(kinds),
    }


def _query(chosen: dict[str, str], *, page: int) -> str:
    return f"?{urlencode({**{name: value for name, value in chosen.items() if value}, 'page': page})}"
