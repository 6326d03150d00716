"""The timers that Redis holds, and how they come to differ from the rows."""

from __future__ import annotations

from datetime import timedelta
from uuid import UUID, uuid4

from django.utils import timezone

from delayhub.engine import TimerLane, due_ms
from tasksapp.models import Job, Status
from tests.integration.tasksapp.stored_jobs import waiting


def timers_ms(lane: TimerLane, queue: str = "order.close") -> dict[str, int]:
    """When each timer of a queue fires, by job id."""
    return {
        job_id: at_ms
        for key, ids in lane.waiting(queue)
        for job_id, at_ms in zip(ids, lane.look(queue, ids, key=key), strict=True)
        if at_ms is not None
    }


def spoil(lane: TimerLane) -> tuple[list[UUID], list[UUID], list[UUID]]:
    """Jobs whose timer is missing, jobs whose timer is late, and timers without a job."""
    missing, late, stray = waiting(2), waiting(2), [uuid4(), *waiting(1)]
    lane.cancel("order.close", [str(job_id) for job_id in missing])
    far = due_ms(timezone.now() + timedelta(minutes=50))
    lane.put("order.close", [(str(job_id), far) for job_id in [*late, stray[0]]])
    Job.objects.filter(id=stray[1]).update(status=Status.CANCELLED)
    return missing, late, sorted(stray)
