"""The biz type that a task's jobs are of."""

from __future__ import annotations

import logging
from typing import Any

from celery import current_app

from delayhub.celery_support.job_store import JobTask
from tasksapp.biz_types.allowed_tasks import DJANGO_TASK
from tasksapp.biz_types.cache import biz_type_cache
from tasksapp.biz_types.first_use import make_at_first_use
from tasksapp.biz_types.visible import reach_of
from tasksapp.conf import DEFAULT_LANE, options
from tasksapp.errors import InvalidJob
from tasksapp.models import BizType

logger = logging.getLogger(__name__)


def biz_type_of_task(task: JobTask, *, using: str) -> BizType:
    """The biz type of the task, made where there is none. Raises InvalidJob where it runs another task."""
    tenant_id = reach_of(None, tenant=task.job_tenant, using=using).tenant_id
    biz_type = biz_type_cache.find({task.biz_type}, tenant_id=tenant_id, using=using).get(task.biz_type)
    if biz_type is None:
        declaration = declaration_of(task, task_name=task.name)
        attempts = {"max_attempts": declaration["max_attempts"]} if declaration["max_attempts"] else {}
        defaults = {
            **attempts,
            "declared": declaration,
            "target": BizType.Target.CELERY,
            "task_name": task.name,
            "task_queue": declaration["queue"],
            "lane": DEFAULT_LANE if DEFAULT_LANE in options().lanes else options().lanes[0],
            "description": "Made with the first job of its task.",
        }
        biz_type = make_at_first_use(task.biz_type, tenant_id=tenant_id, defaults=defaults, using=using)
    # One with an old name keeps it: workers of the earlier release know the task by no other.
    if biz_type.target == BizType.Target.CELERY and biz_type.task_name in {task.name, *task.aliases}:
        return biz_type
    if biz_type.target == BizType.Target.CELERY and biz_type.task_name not in current_app.tasks:
        # Renamed: the worker finds the task by its biz type. Another task of that name would be a mistake.
        logger.info(
            "the biz type %s names the task %s, which is %s now",
            biz_type.code,
            biz_type.task_name,
            task.name,
            extra={"action": "schedule", "biz_type": biz_type.code},
        )
        return biz_type
    message = f"the biz type {biz_type.code} does not run the task {task.name}: set its target, or name another"
    raise InvalidJob("biz_type", "other_target", message)


def declaration_of(task: JobTask, *, task_name: str) -> dict[str, Any]:
    """What the task's code says of its jobs, as the row of their biz type keeps it.

    Args:
        task: the task.
        task_name: the name by which the biz type knows it; it may be an alias.
    """
    # Django's tasks bring the number of their backend with each job; several backends may have the same queue.
    attempts = None if task.name == DJANGO_TASK else task.job_max_attempts
    return {"task": task_name, "queue": getattr(task, "queue", None) or "", "max_attempts": attempts}
