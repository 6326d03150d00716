"""Which Celery tasks, and which queues, the jobs of a biz type may lead to: what the project declares or allows.

Whoever may write biz types names tasks and queues by text. The rule holds where that is stored, where the message of a
job is sent, and where it is run.
"""

from __future__ import annotations

from typing import Any

from django.db import router
from django.utils.translation import gettext as _

from tasksapp.conf import NEVER_QUEUES, NEVER_TASKS, is_like, options
from tasksapp.models import DEFAULT_TENANT, BizType
from tasksapp.models.biz_type import PULL_LANE

#: The task that runs those of Django's tasks framework, and what the codes of its biz types begin with.
DJANGO_TASK, DJANGO_QUEUES = "tasksapp.run_django_task", "django-tasks."


def is_reserved(task_name: str, biz_type: BizType) -> bool:
    """Whether that biz type could never lead to the task, whatever is declared or allowed."""
    if task_name == DJANGO_TASK and biz_type.code.startswith(DJANGO_QUEUES):
        return biz_type.tenant_id != DEFAULT_TENANT
    return is_like(task_name, NEVER_TASKS)


def is_reserved_queue(queue: str) -> bool:
    """Whether no biz type could ever send to the queue."""
    return queue in options().lanes or queue.startswith(PULL_LANE) or is_like(queue, NEVER_QUEUES)


def is_declared(biz_type: BizType) -> bool:
    """Whether the project's code has declared the biz type's task by ``@delayed_task``, for it or a neighbour."""
    return bool(_declared(biz_type)) or _is_declared_elsewhere(biz_type.task_name, biz_type)


def task_complaint(biz_type: BizType, task_name: str | None = None, *, by_declaration: bool = True) -> str | None:
    """Why jobs of the biz type may not run the task; None where they may.

    Args:
        biz_type: the biz type.
        task_name: the task; None for the one that it names.
        by_declaration: whether what workers have declared allows it; not where the worker knows better.
    """
    name = biz_type.task_name if task_name is None else task_name
    # Only the project's own code writes a declaration, so it comes before what names from outside may be.
    if by_declaration and _declared(biz_type).get("task") == name and not is_reserved(name, biz_type):
        return None
    if is_like(name, NEVER_TASKS):
        return _("No job may run a task of Celery's or of DelayHub's own: %(task)s.") % {"task": name}
    if _is_allowed(name, options().allowed_tasks, biz_type) or (
        by_declaration and _is_declared_elsewhere(name, biz_type)
    ):
        return None
    words = {"task": name, "tenant": _tenant(biz_type), "entry": _entry(name, biz_type)}
    if biz_type.tenant_id != DEFAULT_TENANT:
        text = _(
            'The tenant %(tenant)s may not run the task %(task)s: an operator allows it by "%(entry)s" in'
            " DELAYHUB['ALLOWED_TASKS']."
        )
        return text % words
    text = _(
        "The project does not let jobs run the task %(task)s: declare it by @delayed_task and start a worker that has"
        " it, or write \"%(entry)s\" in DELAYHUB['ALLOWED_TASKS']."
    )
    return text % words


def queue_complaint(biz_type: BizType, queue: str | None = None) -> str | None:
    """Why messages of jobs of the biz type may not go to the queue; None where they may.

    Args:
        biz_type: the biz type.
        queue: the queue; None for the one that it names.
    """
    name = biz_type.task_queue if queue is None else queue
    if not name:
        return None
    if is_reserved_queue(name):
        return _("No task may be sent to a queue of Celery's or of DelayHub's own: %(queue)s.") % {"queue": name}
    if _declared(biz_type).get("queue") == name or _is_allowed(name, options().allowed_queues, biz_type):
        return None
    text = _(
        "The project does not let jobs go to the queue %(queue)s: leave it empty for the task's own, or an operator"
        " allows it by \"%(entry)s\" in DELAYHUB['ALLOWED_QUEUES']."
    )
    return text % {"queue": name, "entry": _entry(name, biz_type)}


def attempts_complaint(biz_type: BizType) -> str | None:
    """Why its jobs may not have so many attempts: the task's code says how many; None where they may."""
    says = _declared(biz_type).get("max_attempts")
    if says is None or says == biz_type.max_attempts:
        return None
    return _("The task's @delayed_task says %(number)s: change it there.") % {"number": says}


def _declared(biz_type: BizType) -> dict[str, Any]:
    """What holds of the declaration: nothing where the biz type leads to another task than the one declared."""
    said: dict[str, Any] = biz_type.declared or {}
    if biz_type.target != BizType.Target.CELERY or said.get("task") != biz_type.task_name:
        return {}
    return said


def _is_declared_elsewhere(name: str, biz_type: BizType) -> bool:
    """Whether the project declares the task for another biz type of the tenant."""
    rows = BizType.objects.using(biz_type._state.db or router.db_for_read(BizType))
    return rows.filter(tenant=biz_type.tenant_id, target=BizType.Target.CELERY, declared__task=name).exists()


def _is_allowed(name: str, entries: tuple[str, ...], biz_type: BizType) -> bool:
    """Whether one of the entries fits the name and is for the biz type's tenant."""
    for entry in entries:
        tenant, slash, pattern = entry.rpartition("/")
        if not is_like(name, [pattern]):
            continue
        if is_like(_tenant(biz_type), [tenant]) if slash else biz_type.tenant_id == DEFAULT_TENANT:
            return True
    return False


def _tenant(biz_type: BizType) -> str:
    code: str = biz_type.tenant.code
    return code


def _entry(name: str, biz_type: BizType) -> str:
    return name if biz_type.tenant_id == DEFAULT_TENANT else f"{_tenant(biz_type)}/{name}"
