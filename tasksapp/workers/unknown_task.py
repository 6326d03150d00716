"""What a worker does with the message of a job whose task it does not know: Celery drops it, and the row says why."""

from __future__ import annotations

import logging
from datetime import timedelta
from typing import Any

from celery.signals import task_unknown
from django.db import Error, connections, router

from delayhub.celery_support.delayed_task import JOB_HEADER
from delayhub.clock import now_by
from tasksapp.jobs.completion import REASON_LENGTH
from tasksapp.models import Job, Status
from tasksapp.models.error_class import task_error_class
from tasksapp.timers.lanes import client
from tasksapp.timers.redis_clock import RedisClock

logger = logging.getLogger(__name__)

#: The job's message is sent again so soon: while two releases run side by side, it may reach a worker of the other one.
AGAIN = timedelta(seconds=60)


@task_unknown.connect(dispatch_uid="tasksapp.workers.unknown_task")
def give_back(sender: Any = None, message: Any = None, name: str = "", **_: Any) -> None:
    """Writes into the job's row that this worker does not know its task, and lets its message be sent again soon."""
    job_id = (getattr(message, "headers", None) or {}).get(JOB_HEADER)
    if job_id is None:
        return
    using = router.db_for_write(Job)
    clock = RedisClock(client)
    clock.sync()
    reason = (
        f"its task {name} is not registered in {getattr(sender, 'hostname', 'a worker')}, which got its message: import"
        " the module that defines it there, or list this name in the aliases of the task that replaces it"
    )
    try:
        # Only while the message counts as under way: any later change of the row has its own reason.
        waiting = Job.objects.using(using).filter(id=job_id, status=Status.PENDING, lease_until__isnull=False)
        waiting.update(
            lease_until=now_by(clock) + AGAIN,
            last_error=reason[:REASON_LENGTH],
            error_class=task_error_class("NotRegistered"),
        )
    except Error as error:
        logger.warning("job %s keeps no reason: %s", job_id, error, extra={"action": "unknown_task", "job_id": job_id})
    finally:
        # This thread needs no database otherwise, and a child that is forked later must not get its connection.
        if not connections[using].in_atomic_block:
            connections[using].close()
