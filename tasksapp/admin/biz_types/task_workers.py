"""Which running workers know a biz type's Celery task and take its queue, asked of them directly."""

from __future__ import annotations

from typing import Any, NamedTuple

from celery import current_app
from kombu.exceptions import OperationalError

from tasksapp.models import BizType

#: How long workers have for an answer to each of the two questions.
WAIT_SECONDS = 1.0
#: A broker that is away is not waited for: Celery would try again for six seconds, while a person waits for the page.
AT_ONCE = {"max_retries": 1, "interval_start": 0}


class TaskWorkers(NamedTuple):
    """What workers answered.

    Args:
        broker_answers: whether the broker could be asked.
        answering: the names of the workers that answered.
        knowing: those that have the task.
        queue: the queue that its jobs go to; '' where that is not known here.
        consuming: those that take that queue.
    """

    broker_answers: bool
    answering: list[str]
    knowing: list[str]
    queue: str
    consuming: list[str]


def ask_workers(biz_type: BizType) -> TaskWorkers:
    """Asks all workers; takes up to two seconds, since it is not known how many will answer. No task runs."""
    queue = queue_of(biz_type)
    try:
        with current_app.connection_for_write(transport_options=AT_ONCE) as connection:
            inspect = current_app.control.inspect(timeout=WAIT_SECONDS, connection=connection)
            registered: dict[str, list[str]] = inspect.registered() or {}
            queues: dict[str, Any] = dict(inspect.active_queues() or {}) if registered else {}
    except (OperationalError, OSError):
        return TaskWorkers(False, [], [], queue, [])
    return TaskWorkers(
        broker_answers=True,
        answering=sorted(registered),
        knowing=sorted(name for name, tasks in registered.items() if _has(tasks, biz_type.task_name)),
        queue=queue,
        consuming=sorted(name for name, found in queues.items() if any(one["name"] == queue for one in found)),
    )


def queue_of(biz_type: BizType) -> str:
    """The queue that the biz type's jobs go to, as far as this process knows the task."""
    if biz_type.task_queue:
        return biz_type.task_queue
    task = current_app.tasks.get(biz_type.task_name)
    return str(getattr(task, "queue", None) or current_app.conf.task_default_queue)


def _has(registered: list[str], name: str) -> bool:
    """Whether the task is there. Workers may write attributes behind a name: ``close_order [rate_limit=1/m]``."""
    return any(one.partition(" ")[0] == name for one in registered)
