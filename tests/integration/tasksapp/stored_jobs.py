"""Jobs made as callers make them, then put where a test needs them."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from uuid import UUID

from django.utils import timezone

from tasksapp.jobs.creation import JobRequest, create, create_many
from tasksapp.models import Attempt, BizType, Job, Status
from tests.job_rows import store_job


def due(code: str = "order.close", **fields: Any) -> UUID:
    """A job that is due since a moment ago, unless the fields say otherwise."""
    if fields.keys().isdisjoint({"due_at", "delay"}):
        # Workers know Redis' time in whole milliseconds, rounded down: what is due this instant is not due to them yet.
        fields["due_at"] = timezone.now() - timedelta(milliseconds=2)
    return create(code, **fields).job_id


def waiting(count: int, *, delay: timedelta = timedelta(minutes=10)) -> list[UUID]:
    """So many jobs that wait for their time."""
    made = create_many([JobRequest(biz_type="order.close", delay=delay) for _ in range(count)])
    return [one.job_id for one in made]  # type: ignore[union-attr]  # none is rejected


def in_status(
    status: Status = Status.PENDING, *, delay: timedelta = timedelta(minutes=30), biz_id: str = "", **fields: Any
) -> UUID:
    """A job of that status."""
    job_id = create("order.close", biz_id=biz_id, delay=delay).job_id
    if status != Status.PENDING or fields:
        Job.objects.filter(id=job_id).update(status=status, **fields)
    return job_id


def ended(biz_type: BizType, ago: timedelta, *, status: Status = Status.SUCCEEDED, attempts: int = 1) -> Job:
    """A job that ended so long ago."""
    job = store_job(biz_type, status, due_in=-ago)
    for number in range(1, attempts + 1):
        Attempt.objects.create(job=job, number=number, started_at=job.due_at, duration_ms=1, lateness_ms=0)
    return job
