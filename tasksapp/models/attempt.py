"""Attempt: one try to deliver a job."""

from __future__ import annotations

from django.db import models

from tasksapp.models.job import Job


class Attempt(models.Model):
    """One HTTP call, or one task run, and how it went."""

    # No constraint in the database: it would be a third of an insert's cost, and jobs are purged with their attempts.
    job = models.ForeignKey(
        Job, on_delete=models.DO_NOTHING, related_name="attempt_log", db_constraint=False, db_index=False
    )
    number = models.PositiveIntegerField(help_text="Counts all attempts of the job; never restarts.")
    started_at = models.DateTimeField()
    duration_ms = models.PositiveIntegerField()
    lateness_ms = models.BigIntegerField(help_text="From when it should have begun to when it did.")
    request_line = models.TextField(blank=True, default="", db_default="", help_text="Method and address, as sent.")
    request_headers = models.JSONField(default=dict, db_default={}, blank=True, help_text="As sent, secrets masked.")
    status_code = models.PositiveSmallIntegerField(null=True, blank=True)
    response_headers = models.JSONField(default=dict, blank=True)
    response_body = models.TextField(blank=True)
    error = models.CharField(max_length=500, blank=True, help_text="Why it failed; empty where it did not.")
    worker = models.CharField(max_length=200, blank=True)

    class Meta:
        db_table = "delayhub_attempt"
        ordering = ["job", "number"]
        indexes = [models.Index(fields=["job", "number"], name="delayhub_attempt_job")]

    def __str__(self) -> str:
        return f"attempt {self.number} of {self.job_id}"
