"""Which biz types cannot be deleted, found without reading their jobs."""

from __future__ import annotations

from collections.abc import Iterable

from tasksapp.admin.fragments import job_count
from tasksapp.models import LIVE, BizType, Job
from tasksapp.stats.counts import bounded_count


def why_kept(biz_types: Iterable[BizType]) -> list[str]:
    """A sentence for each of the biz types that has jobs: how many, and what to do."""
    return [_reason(biz_type) for biz_type in biz_types if Job.objects.filter(biz_type=biz_type).exists()]


def _reason(biz_type: BizType) -> str:
    jobs = Job.objects.filter(biz_type=biz_type)
    live = bounded_count(jobs.filter(status__in=LIVE))
    first = f"Cancel the {job_count(live)} that are pending or running" if live else "None of them will fire"
    return (
        f"{biz_type.code} has {_in_words(bounded_count(jobs))}. {first}; then set its retention to 0 and run"
        f" manage.py purge_jobs --biz-type {biz_type.code}. Or disable it: it then takes no jobs, and none fire."
    )


def _in_words(count: int) -> str:
    return "1 job" if count == 1 else f"{job_count(count)} jobs"
