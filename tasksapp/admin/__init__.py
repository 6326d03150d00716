"""The admin: people define biz types, issue API keys, and find and act on jobs.

Each class is imported when it is first used: by the project's URL conf, by system checks, or by its name from here.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from django.contrib import admin
from django.utils.functional import SimpleLazyObject
from django.utils.module_loading import import_string

from tasksapp import models
from tasksapp.admin.frame.own_page import CeleryQueue, System

if TYPE_CHECKING:
    from tasksapp.admin.alerts.alert_admin import AlertAdmin
    from tasksapp.admin.api_keys.api_key_admin import ApiKeyAdmin
    from tasksapp.admin.audit.audit_entry_admin import AuditEntryAdmin
    from tasksapp.admin.biz_types.biz_type_admin import BizTypeAdmin
    from tasksapp.admin.celery_queues.celery_queue_admin import CeleryQueueAdmin
    from tasksapp.admin.jobs.job_admin import JobAdmin
    from tasksapp.admin.operations.operation_admin import OperationAdmin
    from tasksapp.admin.overview.issue_admin import IssueAdmin
    from tasksapp.admin.series.series_admin import SeriesAdmin
    from tasksapp.admin.system_admin import SystemAdmin
    from tasksapp.admin.tenant_admin import TenantAdmin

__all__ = [
    "AlertAdmin",
    "ApiKeyAdmin",
    "AuditEntryAdmin",
    "BizTypeAdmin",
    "CeleryQueueAdmin",
    "IssueAdmin",
    "JobAdmin",
    "OperationAdmin",
    "SeriesAdmin",
    "SystemAdmin",
    "TenantAdmin",
]

_HOMES = {
    "AlertAdmin": (models.Alert, "alerts.alert_admin"),
    "ApiKeyAdmin": (models.ApiKey, "api_keys.api_key_admin"),
    "AuditEntryAdmin": (models.AuditEntry, "audit.audit_entry_admin"),
    "BizTypeAdmin": (models.BizType, "biz_types.biz_type_admin"),
    "CeleryQueueAdmin": (CeleryQueue, "celery_queues.celery_queue_admin"),
    "IssueAdmin": (models.DeadCount, "overview.issue_admin"),
    "JobAdmin": (models.Job, "jobs.job_admin"),
    "OperationAdmin": (models.Operation, "operations.operation_admin"),
    "SeriesAdmin": (models.Series, "series.series_admin"),
    "SystemAdmin": (System, "system_admin"),
    "TenantAdmin": (models.Tenant, "tenant_admin"),
}


def register_with(site: admin.AdminSite) -> None:
    """Registers all of them with the site, which Django's ``autodiscover`` does at each start of a process."""
    # Django's own site calls what it is given and keeps what that makes; a project's may look at the class.
    looks = site.__class__.register is not admin.AdminSite.register
    for name, (model, module) in _HOMES.items():
        path = f"tasksapp.admin.{module}.{name}"
        site.register(model, import_string(path) if looks else _made_at_first_use(path))


def _made_at_first_use(path: str) -> Any:
    """What makes something that stands for a ModelAdmin of this class, which is imported when that is first used."""
    return lambda model, site: SimpleLazyObject(lambda: import_string(path)(model, site))


register_with(admin.site)


def __getattr__(name: str) -> Any:
    try:
        _, module = _HOMES[name]
    except KeyError:
        raise AttributeError(f"module 'tasksapp.admin' has no attribute {name!r}") from None
    value = getattr(import_module(f"tasksapp.admin.{module}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOMES])
