"""The admin: people define biz types here, see what is pending and what is dead, and act on it."""

from __future__ import annotations

from tasksapp.admin.api_key_admin import ApiKeyAdmin
from tasksapp.admin.biz_type_admin import BizTypeAdmin
from tasksapp.admin.job_admin import JobAdmin

__all__ = ["ApiKeyAdmin", "BizTypeAdmin", "JobAdmin"]
