"""Which biz types cannot be deleted, found without reading their jobs."""

from __future__ import annotations

from collections.abc import Iterable

from django.utils.translation import ngettext

from tasksapp.admin.frame.fragments import number
from tasksapp.biz_types.verbs import may_delete
from tasksapp.models import LIVE, BizType, Job
from tasksapp.stats.counts import FARTHEST, bounded_count


def why_kept(biz_types: Iterable[BizType]) -> list[str]:
    """A sentence for each of the biz types that has jobs: how many, and what to do."""
    return [_reason(biz_type) for biz_type in biz_types if not may_delete(biz_type)]


def _reason(biz_type: BizType) -> str:
    jobs = Job.objects.filter(biz_type=biz_type)
    live, count = bounded_count(jobs.filter(status__in=LIVE)), bounded_count(jobs)
    if live:
        sentence = ngettext(
            "%(code)s has %(jobs)s job. Cancel the %(live)s that are pending or running; then set its retention to 0"
            " and run manage.py purge_jobs --biz-type %(code)s. Or disable it: it then takes no jobs, and none fire.",
            "%(code)s has %(jobs)s jobs. Cancel the %(live)s that are pending or running; then set its retention to 0"
            " and run manage.py purge_jobs --biz-type %(code)s. Or disable it: it then takes no jobs, and none fire.",
            count,
        )
    else:
        sentence = ngettext(
            "%(code)s has %(jobs)s job. None of them will fire; then set its retention to 0 and run manage.py"
            " purge_jobs --biz-type %(code)s. Or disable it: it then takes no jobs, and none fire.",
            "%(code)s has %(jobs)s jobs. None of them will fire; then set its retention to 0 and run manage.py"
            " purge_jobs --biz-type %(code)s. Or disable it: it then takes no jobs, and none fire.",
            count,
        )
    return sentence % {
        "code": biz_type.label,
        "jobs": number(count, bound=FARTHEST),
        "live": number(live, bound=FARTHEST),
    }
