"""Attempt: one try to deliver a job."""

from __future__ import annotations

from django.db import models
from django.utils.translation import gettext_lazy as _

from tasksapp.models.job import Job


class Attempt(models.Model):
    """One HTTP call, or one task run, and how it went."""

    # No constraint in the database: it would be a third of an insert's cost, and jobs are purged with their attempts.
    job = models.ForeignKey(
        Job, on_delete=models.DO_NOTHING, related_name="attempt_log", db_constraint=False, db_index=False
    )
    number = models.PositiveIntegerField(_("number"), help_text=_("Counts all attempts of the job; never restarts."))
    started_at = models.DateTimeField(_("started at"))
    duration_ms = models.PositiveIntegerField(_("duration ms"))
    lateness_ms = models.BigIntegerField(
        _("lateness ms"), help_text=_("From when it should have begun to when it did.")
    )
    request_line = models.TextField(
        _("request line"), blank=True, default="", db_default="", help_text=_("Method and address, as sent.")
    )
    request_headers = models.JSONField(
        _("request headers"), default=dict, db_default={}, blank=True, help_text=_("As sent, secrets masked.")
    )
    status_code = models.PositiveSmallIntegerField(_("status code"), null=True, blank=True)
    response_headers = models.JSONField(_("response headers"), default=dict, blank=True)
    response_body = models.TextField(_("response body"), blank=True)
    error = models.CharField(
        _("error"), max_length=500, blank=True, help_text=_("Why it failed; empty where it did not.")
    )
    worker = models.CharField(_("worker"), max_length=200, blank=True)

    class Meta:
        db_table = "delayhub_attempt"
        verbose_name = _("attempt")
        verbose_name_plural = _("attempts")
        ordering = ["job", "number"]
        indexes = [models.Index(fields=["job", "number"], name="delayhub_attempt_job")]

    def __str__(self) -> str:
        return f"attempt {self.number} of {self.job_id}"
