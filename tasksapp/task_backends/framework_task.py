"""The Celery task that runs tasks of Django's tasks framework: one for all, of Django's package and of the other."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from delayhub import delayed_task
from tasksapp.biz_types.allowed_tasks import DJANGO_QUEUES, DJANGO_TASK
from tasksapp.errors import TaskRefused
from tasksapp.workers.kept_text import Kept

#: The packages that have the framework: Django's own (from 6.0), and the one for Django before.
FRAMEWORKS = ("django.tasks", "django_tasks")
#: What the codes of their biz types begin with; the name of the queue follows.
BIZ_TYPE_PREFIX = DJANGO_QUEUES


@delayed_task(biz_type=f"{BIZ_TYPE_PREFIX}default", name=DJANGO_TASK, bind=True, ignore_result=True)
def run_django_task(self: Any, **call: Any) -> Kept:
    """Runs the task of a job; its return value, or its exception's class and traceback, is kept with the attempt."""
    framework = call.get("framework")
    if framework not in FRAMEWORKS:
        raise TaskRefused(f"The project's code has not enqueued this: there is no tasks framework {framework!r}.")
    backend = import_module(framework).task_backends[call["backend"]]
    kept: Kept = backend.run(self.job.id)
    return kept
