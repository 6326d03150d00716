"""Operation: one verb for all jobs that match a filter, worked off in the background."""

from __future__ import annotations

from django.core.validators import MaxValueValidator
from django.db import models

from tasksapp.models.api_key import ApiKey
from tasksapp.models.biz_type import BizType


class Operation(models.Model):
    """A verb, the jobs it is for, how fast it goes, and how far it has come. Only ``maintenance`` works it off."""

    class State(models.TextChoices):
        PLANNING = "planning", "counting"
        PLANNED = "planned", "waiting for its start"
        RUNNING = "running", "running"
        DONE = "done", "done"
        STOPPED = "stopped", "stopped"
        FAILED = "failed", "failed"

    class VerbName(models.TextChoices):
        RUN_NOW = "run_now", "run now"
        RESCHEDULE = "reschedule", "reschedule"
        REDRIVE = "redrive", "redrive"
        CANCEL = "cancel", "cancel"
        DROP = "drop", "drop"

    verb = models.CharField(max_length=10, choices=VerbName)
    job_filter = models.JSONField(help_text="Which jobs, as tasksapp.jobs.job_filter writes it.")
    biz_type = models.ForeignKey(BizType, on_delete=models.CASCADE, null=True, blank=True, related_name="operations")
    due_at = models.DateTimeField(null=True, blank=True, help_text="The new time, of jobs that are rescheduled.")
    reason = models.CharField(max_length=500, blank=True)
    rate_per_second = models.FloatField(null=True, blank=True, help_text="Jobs a second; empty: as fast as possible.")
    trial_jobs = models.PositiveIntegerField(default=0, help_text="So many go first; 0: no trial.")
    trial_percent = models.PositiveSmallIntegerField(default=90, validators=[MaxValueValidator(100)])

    state = models.CharField(max_length=10, choices=State, default=State.PLANNING)
    state_reason = models.CharField(max_length=500, blank=True, help_text="Why it stopped or failed.")
    planned = models.PositiveIntegerField(null=True, blank=True, help_text="Jobs that matched when it was planned.")
    done = models.PositiveIntegerField(default=0, help_text="Jobs that the verb changed.")
    left = models.PositiveIntegerField(default=0, help_text="Jobs that had changed meanwhile and were left alone.")
    succeeded = models.PositiveIntegerField(default=0, help_text="Of the changed jobs: those that succeeded since.")
    failed = models.PositiveIntegerField(default=0, help_text="Attempts of the changed jobs that failed since.")
    dead = models.PositiveIntegerField(default=0, help_text="Of the changed jobs: those that are dead since.")
    cursor = models.JSONField(default=dict, blank=True, help_text="Where the walk over the rows goes on.")

    started_by = models.CharField(max_length=150, help_text="The name, which stays when the account goes.")
    # No foreign key: a project may have the API without accounts, and accounts may have keys of any type.
    user_id = models.CharField(max_length=64, null=True, blank=True, help_text="The account's primary key, as text.")
    api_key = models.ForeignKey(
        ApiKey, on_delete=models.SET_NULL, null=True, blank=True, related_name="+", db_index=False
    )
    created_at = models.DateTimeField(auto_now_add=True)
    planned_at = models.DateTimeField(null=True, blank=True)
    started_at = models.DateTimeField(null=True, blank=True)
    finished_at = models.DateTimeField(null=True, blank=True)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        db_table = "delayhub_operation"
        ordering = ["-id"]
        indexes = [
            models.Index(
                fields=["state", "id"],
                condition=models.Q(state__in=["planning", "planned", "running"]),
                name="delayhub_operation_open",
            )
        ]

    def __str__(self) -> str:
        return f"operation {self.pk}: {self.verb}"
