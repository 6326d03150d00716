"""Issues as people see them: what failed alike, how often, since when, the last of it, and what can be done."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from django.db.models import OuterRef, Subquery
from django.http import HttpRequest
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from tasksapp.access.permissions import TEST_CALL, may
from tasksapp.admin.frame.fragments import (
    address,
    clock_time,
    duration,
    flow_state,
    jobs_address,
    number,
    percent,
    plan_address,
    time_away,
)
from tasksapp.admin.frame.masking import masked_body, may_see_bodies
from tasksapp.admin.jobs.columns import shown_error
from tasksapp.biz_types.breaker import Breaker
from tasksapp.models import Attempt, Job
from tasksapp.models.error_class import error_class_label
from tasksapp.stats.issues import Issue

#: Characters of an answer that are shown.
ANSWER_LENGTH = 2_000


@dataclass(frozen=True, kw_only=True, slots=True)
class IssueRow:
    """One issue in a table; an address is '' where the person may not go there, or a site has no such page.

    Args:
        key: what names it on the page.
        code: the biz type.
        biz_type_url: its page.
        error: the kind of the error, in words.
        dead: how many jobs.
        first: when the first of them died.
        last: when the last of them died, and how long that is ago.
        last_away: how long that is ago.
        today: how many died today.
        share: which share of the recent attempts fails so.
        flow: whether jobs of the biz type go out.
        jobs_url: the list of these jobs.
        sample_url: the job that died last.
        sample: the last request of that job and what came back; None where it is not shown.
        test_url: sends a test callback.
        redrive_url: plans to try them again.
        drop_url: plans to drop them.
    """

    key: str
    code: str
    biz_type_url: str
    error: str
    dead: str
    first: str
    last: str
    last_away: str
    today: str
    share: str
    flow: SafeString
    jobs_url: str
    sample_url: str
    sample: Sample | None
    test_url: str
    redrive_url: str
    drop_url: str


def issue_rows(
    issues: Iterable[Issue],
    *,
    request: HttpRequest,
    site: str,
    breakers: Mapping[str, Breaker] | None,
    now: datetime,
    samples: Mapping[str, Sample] | None = None,
) -> list[IssueRow]:
    """A row for each issue, with the buttons that the person may press; breakers are None where Redis is away."""
    user = request.user
    may_test, may_redrive, may_drop = user.has_perm(TEST_CALL), may(user, "redrive"), may(user, "drop")
    may_see_biz_types = user.has_perm("tasksapp.view_biztype")
    rows = []
    for issue in issues:
        biz_type = issue.biz_type
        chosen = {"biz_type": biz_type.label, "error_class": issue.error_class}
        dead = {"status": "dead", **chosen}
        sample = issue.sample_job_id
        is_called = biz_type.target == biz_type.Target.HTTP
        rows.append(
            IssueRow(
                key=f"{biz_type.pk}.{issue.error_class}",
                code=biz_type.label,
                biz_type_url=address("tasksapp_biztype_change", biz_type.pk, site=site) if may_see_biz_types else "",
                error=error_class_label(issue.error_class),
                dead=number(issue.dead),
                first=_when(issue.first_at),
                last=_when(issue.last_at),
                last_away="" if issue.last_at is None else time_away(issue.last_at, now=now),
                today=_("+%(number)s today") % {"number": number(issue.today)} if issue.today else "",
                share=percent(issue.failing_share),
                flow=flow_state(
                    biz_type, (breakers or {}).get(biz_type.queue), has_redis=breakers is not None, now=now
                ),
                jobs_url=jobs_address(site=site, tab="dead", **chosen),
                sample_url=address("tasksapp_job_change", issue.sample_job_id, site=site)
                if issue.sample_job_id
                else "",
                sample=(samples or {}).get(str(sample)),
                test_url=address("tasksapp_biztype_test", biz_type.pk, site=site) if may_test and is_called else "",
                redrive_url=plan_address("redrive", site=site, **dead) if may_redrive else "",
                drop_url=plan_address("drop", site=site, **dead) if may_drop else "",
            )
        )
    return rows


def _when(at: datetime | None) -> str:
    return "" if at is None else clock_time(at)


class Sample(NamedTuple):
    """What was sent, what came back, and the body of the answer, as far as the person may see bodies."""

    request: str
    answer: str
    body: SafeString


def samples(job_ids: Iterable[UUID], *, request: HttpRequest) -> dict[str, Sample]:
    """By the id of the job, its last attempt; one query. Jobs that were never tried have none."""
    last = Attempt.objects.filter(job_id=OuterRef("pk")).order_by("-number").values("pk")[:1]
    jobs = Job.objects.filter(pk__in=list(job_ids)).order_by().annotate(last=Subquery(last))
    found = Attempt.objects.filter(pk__in=jobs.values("last")).order_by()
    return {str(attempt.job_id): _sample(attempt, request=request) for attempt in found}


def _sample(attempt: Attempt, *, request: HttpRequest) -> Sample:
    sees = may_see_bodies(request)
    error = shown_error(attempt.error, sees_bodies=sees)
    words = {
        "error": error or str(attempt.status_code or ""),
        "time": clock_time(attempt.started_at),
        "took": duration(ms=attempt.duration_ms),
    }
    return Sample(
        attempt.request_line if sees else "",  # the job may have a URL of its own, which may hold what its body does
        _("%(error)s, at %(time)s, after %(took)s") % words,
        masked_body(request, attempt.response_body[:ANSWER_LENGTH]) if attempt.response_body else SafeString(""),
    )
