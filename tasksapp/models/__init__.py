"""The tables of the timeout centre."""

from __future__ import annotations

from tasksapp.models.alert import Alert, AlertKind, AlertMessage, AlertSilence, AlertWatch
from tasksapp.models.answer_link import AnswerLink
from tasksapp.models.api_key import ApiKey, Scope
from tasksapp.models.attempt import Attempt
from tasksapp.models.audit_entry import AuditEntry
from tasksapp.models.biz_type import UNTIL_RESUMED, BizType
from tasksapp.models.job import Job
from tasksapp.models.job_count import DeadCount, JobCount, Pulse, PulseTotal, TenantCount, Upcoming
from tasksapp.models.job_keys import IdempotencyKey, OrderedKey, PausedKey, Tombstone
from tasksapp.models.loader_report import LoaderReport
from tasksapp.models.missing_follow_up import MissingFollowUp
from tasksapp.models.new_job import NewJob
from tasksapp.models.operation import Operation
from tasksapp.models.series import Series
from tasksapp.models.site_rights import SiteRights
from tasksapp.models.tenant import DEFAULT_TENANT, Tenant
from tasksapp.models.transition import FINISHED, LIVE, Status, Transition

__all__ = [
    "DEFAULT_TENANT",
    "FINISHED",
    "LIVE",
    "UNTIL_RESUMED",
    "Alert",
    "AlertKind",
    "AlertMessage",
    "AlertSilence",
    "AlertWatch",
    "AnswerLink",
    "ApiKey",
    "Attempt",
    "AuditEntry",
    "BizType",
    "DeadCount",
    "IdempotencyKey",
    "Job",
    "JobCount",
    "LoaderReport",
    "MissingFollowUp",
    "NewJob",
    "Operation",
    "OrderedKey",
    "PausedKey",
    "Pulse",
    "PulseTotal",
    "Scope",
    "Series",
    "SiteRights",
    "Status",
    "Tenant",
    "TenantCount",
    "Tombstone",
    "Transition",
    "Upcoming",
]
