"""What a worker reports of the biz types when it starts: those whose jobs it would get and could not run."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from typing import Any

from celery.signals import worker_ready
from django.apps import AppConfig
from django.core import checks
from django.core.checks import CheckMessage, Tags, register
from django.db import DatabaseError, InterfaceError, router
from django.utils.translation import override

from delayhub.celery_support.delayed_task import DelayedTask
from tasksapp.biz_types.allowed_tasks import queue_complaint, task_complaint
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
    # Of those whose task has got another name, this worker knows better than their rows.
    delayed = [task for task in sender.app.tasks.values() if isinstance(task, DelayedTask)]
    unknown = [biz_type for biz_type in biz_types if not any(is_biz_type_of(task, biz_type) for task in delayed)]
    for fault in [*lane_faults(biz_types), *task_faults(sender.app, biz_types), *refusals(unknown)]:
        logger.error("%s", fault, extra={"action": "startup"})


@register(Tags.database)
def check_refused_tasks(
    app_configs: Sequence[AppConfig] | None = None, databases: Sequence[str] | None = None, **_: Any
) -> list[CheckMessage]:
    """A warning for each biz type whose jobs are refused. It asks the database that biz types are in."""
    using = router.db_for_write(BizType)
    if using not in (databases or ()):
        return []
    rows = BizType.objects.using(using).select_related("tenant").filter(enabled=True)
    try:
        faults = refusals(rows)
    except (DatabaseError, InterfaceError):
        return []
    hint = "Jobs of it are dead as soon as they are due; redrive them when it is allowed, or when it leads elsewhere."
    return [checks.Warning(fault, hint=hint, id="delayhub.W030") for fault in faults]


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


def refusals(biz_types: Iterable[BizType]) -> list[str]:
    """A sentence for each biz type whose jobs are refused, since the project does not allow their task or queue."""
    with override("en"):
        return [
            f"jobs of {biz_type.label} will be refused. {complaint}"
            for biz_type in biz_types
            if biz_type.target == BizType.Target.CELERY
            and (complaint := task_complaint(biz_type) or queue_complaint(biz_type))
        ]


def is_biz_type_of(task: DelayedTask[..., Any], biz_type: BizType) -> bool:
    """Whether the jobs of the delayed task are of that biz type."""
    return task.biz_type == biz_type.code and is_of_tenant(task, biz_type)


def is_of_tenant(task: DelayedTask[..., Any], biz_type: BizType) -> bool:
    """Whether the delayed task is for jobs of the biz type's tenant."""
    if task.job_tenant is None:
        return biz_type.tenant_id == DEFAULT_TENANT
    return bool(task.job_tenant == biz_type.tenant.code)
