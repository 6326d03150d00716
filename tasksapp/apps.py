"""The Django app."""

from __future__ import annotations

from django.apps import AppConfig


class TasksAppConfig(AppConfig):
    """Installs the timeout centre in a project: ``INSTALLED_APPS += ["tasksapp"]``."""

    name = "tasksapp"
    # Fixed here, since both are common and migrations depend on them.
    label = "tasksapp"
    default_auto_field = "django.db.models.BigAutoField"
    verbose_name = "DelayHub"

    def ready(self) -> None:
        from delayhub.celery_support.job_store import register_job_store  # noqa: PLC0415  only where Django is set up
        from tasksapp import checks  # noqa: F401, PLC0415  the import registers them
        from tasksapp.task_backends.delayed_task import TableStore  # noqa: PLC0415  needs the models
        from tasksapp.timers import celery_settings, fitness  # noqa: F401, PLC0415  they register checks
        from tasksapp.workers import biz_type_report, timer_queues  # noqa: F401, PLC0415  connect to the worker's start

        register_job_store(TableStore())
