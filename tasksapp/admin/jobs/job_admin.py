"""Jobs in the admin: people find them, read them and apply verbs to them."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.db.models import Q
from django.http import HttpRequest

from tasksapp.admin.audit.history import AuditHistory
from tasksapp.admin.frame.delivery_banner import ShowsDelivery
from tasksapp.admin.jobs.pages import JobPages
from tasksapp.admin.jobs.resolve_pages import ResolvePages
from tasksapp.models import Job


@admin.register(Job)
class JobAdmin(ShowsDelivery, ResolvePages, JobPages, AuditHistory):
    """Jobs with their status, times and attempts. Only verbs change them."""

    def audit_of(self, row: Any) -> Q:
        """What was done to the job."""
        return Q(job_id=row.pk)

    def has_add_permission(self, request: HttpRequest) -> bool:
        """False: callers create jobs."""
        del request
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Job | None = None) -> bool:
        """False: retention deletes jobs; a person cancels or drops them."""
        del request, obj
        return False

    def has_change_permission(self, request: HttpRequest, obj: Job | None = None) -> bool:
        """False: nothing of a job is typed into a form of Django's; each verb has a permission of its own."""
        del request, obj
        return False
