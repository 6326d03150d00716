"""The Django app."""

from __future__ import annotations

from typing import Any

from django.apps import AppConfig, apps
from django.apps.registry import Apps
from django.db import router
from django.db.models.signals import post_migrate

from delayhub.extras import require

require("django", "celery")  # before models and admin, whose imports would name a module, and not what to install


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
        from tasksapp.alerts import settings_check  # noqa: F401, PLC0415  it registers a check
        from tasksapp.biz_types import gates  # noqa: F401, PLC0415  gates follow the rows of biz types
        from tasksapp.task_backends import declared_series, job_backend, task_biz_type  # noqa: F401, PLC0415  signals
        from tasksapp.task_backends.delayed_task import TableStore  # noqa: PLC0415  needs the models
        from tasksapp.timers import celery_settings, fitness  # noqa: F401, PLC0415  they register checks
        from tasksapp.workers import biz_type_report, timer_queues  # noqa: F401, PLC0415  connect to the worker's start

        register_job_store(TableStore())
        post_migrate.connect(_make_default_tenant, sender=self)


def _make_default_tenant(*, sender: AppConfig, using: str, apps: Apps = apps, **_kwargs: Any) -> None:
    """``manage.py flush`` removes the default tenant with all other rows, and then sends this signal."""
    from tasksapp.models.tenant import ensure_default_tenant  # noqa: PLC0415  needs Django set up

    try:
        tenants = apps.get_model(sender.label, "Tenant")
    except LookupError:
        return  # migrated back to before there were tenants
    if router.allow_migrate_model(using, tenants):
        ensure_default_tenant(tenants, using=using)
