"""The backend for the package ``django-tasks``, which has Django's tasks framework for Django before 6.0."""

from __future__ import annotations

from django_tasks.backends.base import BaseTaskBackend

from tasksapp.task_backends.job_backend import JobBackend


class DelayHubBackend(JobBackend, BaseTaskBackend):
    """``TASKS = {"default": {"BACKEND": "tasksapp.task_backends.django_tasks.DelayHubBackend"}}``."""

    framework = "django_tasks"
