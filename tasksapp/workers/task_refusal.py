"""What a worker refuses to run or to send for jobs: tasks and queues that the project does not allow to their biz type.

A worker knows more than a row says: a task that it has itself is a delayed task of that tenant, or it is not.
"""

from __future__ import annotations

from celery import Celery
from django.utils.translation import override

from delayhub.celery_support.delayed_task import DelayedTask
from tasksapp.biz_types.allowed_tasks import is_reserved, is_reserved_queue, queue_complaint, task_complaint
from tasksapp.errors import TaskRefused
from tasksapp.models import BizType
from tasksapp.workers.biz_type_report import is_of_tenant


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
