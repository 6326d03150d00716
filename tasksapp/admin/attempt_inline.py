"""The attempts on a job's page."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.safestring import SafeString

from tasksapp.admin.fragments import badge, local_time
from tasksapp.models import Attempt, Job

#: Attempts that a page shows. The API lists them all.
SHOWN = 100


class AttemptInline(admin.TabularInline):  # type: ignore[type-arg]  # it takes no argument at run time
    """The last attempts to deliver the job, the newest first."""

    model = Attempt
    extra = 0
    can_delete = False
    readonly_fields = ["number", "started", "outcome", "duration_ms", "lateness_ms", "response_body", "worker"]
    fields = ["number", "started", "outcome", "duration_ms", "lateness_ms", "response_body", "worker"]
    verbose_name_plural = f"attempts (the last {SHOWN})"

    def get_queryset(self, request: HttpRequest) -> QuerySet[Attempt]:
        """The attempts, the newest first."""
        return super().get_queryset(request).order_by("-number")

    def get_formset(self, request: HttpRequest, obj: Job | None = None, **kwargs: Any) -> Any:
        """A formset with the last attempts only."""
        formset = super().get_formset(request, obj, **kwargs)

        class Last(formset):  # type: ignore[misc, valid-type]  # Django makes the class on the fly
            def get_queryset(self) -> Any:
                return super().get_queryset()[:SHOWN]

        return Last

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """False: workers make attempts."""
        del request, obj
        return False

    @admin.display(description="started")
    def started(self, attempt: Attempt) -> SafeString:
        """When the attempt began."""
        return local_time(attempt.started_at)

    @admin.display(description="outcome")
    def outcome(self, attempt: Attempt) -> SafeString:
        """The status code of the answer, or what went wrong."""
        if not attempt.error:
            return badge(str(attempt.status_code or "done"), "succeeded")
        return badge(attempt.error, "dead")
