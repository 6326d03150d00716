"""The Django app."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import cache
from importlib import import_module
from typing import Any

from django.apps import AppConfig, apps
from django.apps.registry import Apps
from django.core.checks import Tags, register
from django.core.exceptions import ImproperlyConfigured
from django.db import router
from django.db.backends.signals import connection_created
from django.db.models.signals import post_migrate, post_save
from django.utils.functional import SimpleLazyObject
from django.utils.module_loading import import_string

from delayhub.awaited_import import when_imported
from delayhub.extras import require

require("django", "celery")  # before models and admin, whose imports would name a module, and not what to install

#: Checks whose modules know Celery and Redis, and what tag each has.
_CHECKS = {
    "tasksapp.timers.celery_settings.check_celery_app": Tags.compatibility,
    "tasksapp.timers.celery_settings.check_task_modules": Tags.compatibility,
    "tasksapp.timers.celery_settings.check_idle_options": Tags.compatibility,
    "tasksapp.timers.fitness.check_broker": Tags.compatibility,
    "tasksapp.task_backends.declared_series.check_declared_series": Tags.database,
    "tasksapp.biz_types.signing_check.check_signatures": Tags.database,
    "tasksapp.biz_types.stranded.check_stranded": Tags.database,
    "tasksapp.workers.biz_type_report.check_refused_tasks": Tags.database,
}
#: What only workers need: it connects to the end of their start, or is a task of theirs.
_OF_WORKERS = (
    "tasksapp.task_backends.declared_series",
    "tasksapp.task_backends.job_backend",
    "tasksapp.task_backends.task_biz_type",
    "tasksapp.workers.biz_type_report",
    "tasksapp.workers.timer_queues",
)


#: What the abilities that come with the app add to claims and outcomes.
_WAIT_RULES = (
    "tasksapp.sql.ordered_claims.WAITS_FOR_TURN",
    "tasksapp.sql.keep_last.WAITS_FOR_THE_ONE_BEFORE",
    "tasksapp.sql.series_overlap.WAITS_FOR_SERIES",
    "tasksapp.jobs.claim_ends.ENDS_WITH_FOLLOW_UPS",
)
_END_RULES = ("tasksapp.jobs.claim_ends.ENDS_RESOLVED",)
_CLAIM_HOOKS = ("tasksapp.sql.series_overlap.SETTLES_OVERLAPS", "tasksapp.jobs.flow_order.WAKES_AFTER_CLAIM")
_OUTCOME_HOOKS = (
    "tasksapp.jobs.flow_order.WAKES_AFTER_OUTCOME",
    "tasksapp.jobs.outcome_followers.RELEASES_SERIES",
    "tasksapp.jobs.outcome_followers.WAKES_WAITING",
    "tasksapp.jobs.outcome_followers.CANCELS_OTHERS",
    "tasksapp.jobs.outcome_followers.SENDS_SIGNALS",
)


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
        from tasksapp.extending import claim_rules, outcome_hooks  # noqa: PLC0415  only where Django is set up

        for path, tag in _CHECKS.items():
            register(_called_at_first_use(path), tag)
        register(
            _called_at_first_use("tasksapp.timers.celery_settings.check_patience"), Tags.compatibility, deploy=True
        )
        claim_rules.wait_rules.add(*_WAIT_RULES)
        claim_rules.end_rules.add(*_END_RULES)
        claim_rules.claim_hooks.add(*_CLAIM_HOOKS)
        outcome_hooks.outcome_hooks.add(*_OUTCOME_HOOKS)
        register_job_store(SimpleLazyObject(_called_at_first_use("tasksapp.task_backends.delayed_task.TableStore")))
        connection_created.connect(
            _called_at_first_use("tasksapp.sql.driver.lost_connection.watch"),
            weak=False,
            dispatch_uid="tasksapp.sql.driver.lost_connection",
        )
        post_save.connect(
            _called_at_first_use("tasksapp.biz_types.gates.follow_row"),
            sender="tasksapp.BizType",
            weak=False,
            dispatch_uid="tasksapp.biz_types.gates",
        )
        post_migrate.connect(_make_default_tenant, sender=self)
        when_imported("celery.signals", _connect_to_workers)
        when_imported("delayhub.transport.timer_queue", _name_lanes)


def _name_lanes(timer_queue: Any) -> None:
    """Tell the transport which queues are timer lanes: a web server publishes tasks, and declares no lane."""
    from tasksapp.conf import options  # noqa: PLC0415  only where Celery is used

    with suppress(ImproperlyConfigured):  # a check reports the options
        timer_queue.known_lanes.update(options().lanes)


def _connect_to_workers(signals: Any) -> None:
    """Lets each worker that starts load what it needs; ``celeryd_init`` comes first, and not in workers of tests."""
    signals.celeryd_init.connect(_load_for_workers, dispatch_uid="tasksapp.apps")
    signals.celeryd_init.connect(
        _called_at_first_use("tasksapp.workers.timer_queues.take_timers"),
        weak=False,
        dispatch_uid="tasksapp.workers.timer_queues",
    )
    signals.worker_init.connect(_load_for_workers, dispatch_uid="tasksapp.apps")


def _load_for_workers(**_: Any) -> None:
    for module in _OF_WORKERS:
        import_module(module)


@cache  # Django knows by identity what is registered already
def _called_at_first_use(path: str) -> Callable[..., Any]:
    """A function that calls the one of this dotted path, which is imported with the first call.

    Each process pays at its start for what is imported then, and few use all that is registered.
    """

    def call(*args: Any, **kwargs: Any) -> Any:
        return import_string(path)(*args, **kwargs)

    call.__module__, _, call.__name__ = path.rpartition(".")
    call.__qualname__ = call.__name__
    return call


def _make_default_tenant(*, sender: AppConfig, using: str, apps: Apps = apps, **_kwargs: Any) -> None:
    """``manage.py flush`` removes the default tenant with all other rows, and then sends this signal."""
    from tasksapp.models.tenant import ensure_default_tenant  # noqa: PLC0415  needs Django set up

    try:
        tenants = apps.get_model(sender.label, "Tenant")
    except LookupError:
        return  # migrated back to before there were tenants
    if router.allow_migrate_model(using, tenants):
        ensure_default_tenant(tenants, using=using)
