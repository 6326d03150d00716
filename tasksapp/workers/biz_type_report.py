"""What a worker refuses to run or to send for jobs, and what it reports of that when it starts.

Refused are tasks and queues that the project does not allow to their biz type. A worker knows more than a row says: a
task that it has itself is a delayed task of that tenant, or it is not.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from typing import Any

from celery import Celery
from celery.signals import worker_ready
from django.apps import AppConfig
from django.core import checks
from django.core.checks import CheckMessage
from django.db import DatabaseError, InterfaceError, router
from django.utils.translation import override

from delayhub.celery_support.delayed_task import DelayedTask
from delayhub.celery_support.job_store import JobTask
from tasksapp.biz_types.allowed_tasks import is_reserved, is_reserved_queue, queue_complaint, task_complaint
from tasksapp.conf import options
from tasksapp.errors import TaskRefused
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


def is_biz_type_of(task: JobTask, biz_type: BizType) -> bool:
    """Whether the jobs of the delayed task are of that biz type."""
    return task.biz_type == biz_type.code and is_of_tenant(task, biz_type)


def is_of_tenant(task: JobTask, biz_type: BizType) -> bool:
    """Whether the delayed task is for jobs of the biz type's tenant."""
    if task.job_tenant is None:
        return biz_type.tenant_id == DEFAULT_TENANT
    return bool(task.job_tenant == biz_type.tenant.code)


def task_refusal(app: Celery, biz_type: BizType, task_name: str, *, queue: str | None = None) -> TaskRefused | None:
    """Why jobs of the biz type may not run the task, or not by that queue; None where they may.

    Args:
        app: the app whose worker this is.
        biz_type: as it is now.
        task_name: the task that would run.
        queue: the queue that its message would go to; None for the task's own, or Celery's choice.
    """
    task = app.tasks.get(task_name)
    delayed = isinstance(task, DelayedTask) and is_of_tenant(task, biz_type) and not is_reserved(task_name, biz_type)
    # A task's own queue is the project's word.
    asks_queue = bool(queue) and not (task is not None and queue == getattr(task, "queue", None))
    if delayed and not asks_queue:
        return None
    with override("en"):
        complaint = None if delayed else task_complaint(biz_type, task_name, by_declaration=task is None)
        if complaint is None and asks_queue:
            complaint = queue_complaint(biz_type, queue)
    if complaint is None:
        return None
    # What this worker does not know, another may be about to declare: while a release is under way, for example.
    reserved = is_reserved(task_name, biz_type) or is_reserved_queue(queue or "")
    return TaskRefused(complaint, is_final=task is not None or reserved)
