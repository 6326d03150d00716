"""The admin: people define biz types, issue API keys, and find and act on jobs."""

from __future__ import annotations

from tasksapp.admin.alert_admin import AlertAdmin
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
