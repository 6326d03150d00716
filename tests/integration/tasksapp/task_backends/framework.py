"""The tasks framework of this environment: Django's own where it has one, else the package ``django-tasks``."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import django

FRAMEWORK = "django.tasks" if django.VERSION >= (6, 0) else "django_tasks"
BACKEND = f"tasksapp.task_backends.{'django_builtin' if django.VERSION >= (6, 0) else 'django_tasks'}.DelayHubBackend"
INVALID_TASK = "InvalidTask" if django.VERSION >= (6, 0) else "InvalidTaskError"
QUEUES = ["default", "mail"]
TASKS = {"default": {"BACKEND": BACKEND, "QUEUES": QUEUES, "OPTIONS": {"max_attempts": 2}}}


def of_framework(module: str, name: str) -> Any:
    """A name of one of its modules; '' for the package itself."""
    return getattr(import_module(f"{FRAMEWORK}.{module}" if module else FRAMEWORK), name)


task: Any = of_framework("", "task")
