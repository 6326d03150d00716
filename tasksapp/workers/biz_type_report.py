"""What a worker reports of the biz types when it starts: those whose jobs it would get and could not run."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from typing import Any

from celery.signals import worker_ready
from django.db import DatabaseError, InterfaceError, router

from delayhub.celery_support.delayed_task import DelayedTask
from tasksapp.conf import options
from tasksapp.models import BizType, Job
from tasksapp.models.tenant import DEFAULT_TENANT

logger = logging.getLogger(__name__)


@worker_ready.connect(dispatch_uid="tasksapp.workers.biz_type_report")
def report_biz_types(sender: Any = None, **_: Any) -> None:
    """Logs an error for each biz type that nothing can run: its lane has no worker, or this worker lacks its task."""
    try:
        biz_types = list(BizType.objects.using(router.db_for_write(Job)).select_related("tenant").filter(enabled=True))
    except (DatabaseError, InterfaceError) as error:
        logger.warning("the biz types could not be read: %s", error, extra={"action": "startup"})
        return
    for fault in [*lane_faults(biz_types), *task_faults(sender.app, biz_types)]:
        logger.error("%s", fault, extra={"action": "startup"})


def lane_faults(biz_types: Iterable[BizType]) -> list[str]:
    """A sentence for each biz type in a lane that no worker takes."""
    lanes = options().lanes
    return [
        f"no worker takes the jobs of {biz_type.label}: its lane {biz_type.lane} is not in DELAYHUB['LANES'];"
        f" add it there, or give the biz type another ({', '.join(lanes)})"
        for biz_type in biz_types
        if biz_type.lane not in lanes
    ]


def task_faults(app: Any, biz_types: Iterable[BizType]) -> list[str]:
    """A sentence for each biz type whose messages this worker takes, and whose task it does not know."""
    delayed = [task for task in app.tasks.values() if isinstance(task, DelayedTask)]
    return [
        f"jobs of {biz_type.label} come to this worker, which has no task {biz_type.task_name}: import its module"
        " (app.autodiscover_tasks() imports the tasks.py of each app in INSTALLED_APPS),"
        f" or leave the queue {queue} out of this worker's -Q"
        for biz_type in biz_types
        if biz_type.target == BizType.Target.CELERY
        and biz_type.task_name not in app.tasks
        and not any(is_biz_type_of(task, biz_type) for task in delayed)
        and (queue := biz_type.task_queue or app.conf.task_default_queue) in app.amqp.queues.consume_from
    ]


def is_biz_type_of(task: DelayedTask[..., Any], biz_type: BizType) -> bool:
    """Whether the jobs of the delayed task are of that biz type."""
    if task.biz_type != biz_type.code:
        return False
    if task.job_tenant is None:
        return biz_type.tenant_id == DEFAULT_TENANT
    return bool(task.job_tenant == biz_type.tenant.code)
