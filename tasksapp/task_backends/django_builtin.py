"""The backend for Django's own tasks framework, which Django has from 6.0."""

from __future__ import annotations

from django.tasks.backends.base import BaseTaskBackend

from tasksapp.task_backends.job_backend import JobBackend


class DelayHubBackend(JobBackend, BaseTaskBackend):
    """``TASKS = {"default": {"BACKEND": "tasksapp.task_backends.django_builtin.DelayHubBackend"}}``."""

    framework = "django.tasks"
