"""The tables of the timeout centre."""

from __future__ import annotations

from tasksapp.models.api_key import ApiKey
from tasksapp.models.attempt import Attempt
from tasksapp.models.biz_type import UNTIL_RESUMED, BizType
from tasksapp.models.idempotency_key import IdempotencyKey
from tasksapp.models.job import Job, NewJob
from tasksapp.models.loader_report import LoaderReport
from tasksapp.models.status import FINISHED, LIVE, Status
from tasksapp.models.transition import Transition

__all__ = [
    "FINISHED",
    "LIVE",
    "UNTIL_RESUMED",
    "ApiKey",
    "Attempt",
    "BizType",
    "IdempotencyKey",
    "Job",
    "LoaderReport",
    "NewJob",
    "Status",
    "Transition",
]
