"""Rows of jobs in any status, written past the verbs."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.utils import timezone

from tasksapp.models import LIVE, BizType, Job, Status


def job_row(
    biz_type: BizType, status: Status = Status.PENDING, *, due_in: timedelta = timedelta(hours=1), **fields: Any
) -> Job:
    """A row that is not stored yet. Whatever else it has is as old as its due time, if that is in the past."""
    now = timezone.now()
    due, made = now + due_in, now + min(due_in, timedelta())
    values: dict[str, Any] = {
        "due_at": due,
        "next_run_at": due,
        "body": '{"order": 42}',
        "created_at": made,
        "updated_at": made,
        "finished_at": None if status in LIVE else made,
    }
    return Job(biz_type=biz_type, status=status, **{**values, **fields})


def store_job(biz_type: BizType, status: Status = Status.PENDING, **fields: Any) -> Job:
    """A row that is stored; see :func:`job_row`."""
    job = job_row(biz_type, status, **fields)
    job.save(force_insert=True)
    return job
