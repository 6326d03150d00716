"""Operation: one verb for all jobs that match a filter, worked off in the background."""

from __future__ import annotations

from django.core.validators import MaxValueValidator
from django.db import models
from django.utils.translation import gettext_lazy as _

from tasksapp.models.api_key import ApiKey
from tasksapp.models.biz_type import BizType
from tasksapp.models.tenant import of_tenant


class Operation(models.Model):
    """A verb, the jobs it is for, how fast it goes, and how far it has come. Only ``maintenance`` works it off."""

    class State(models.TextChoices):
        PLANNING = "planning", _("counting")
        PLANNED = "planned", _("waiting for its start")
        RUNNING = "running", _("running")
        DONE = "done", _("done")
        STOPPED = "stopped", _("stopped")
        FAILED = "failed", _("failed")

    class VerbName(models.TextChoices):
        RUN_NOW = "run_now", _("run now")
        RESCHEDULE = "reschedule", _("reschedule")
        REDRIVE = "redrive", _("redrive")
        CANCEL = "cancel", _("cancel")
        DROP = "drop", _("drop")
        BACKFILL = "backfill", _("backfill")

    verb = models.CharField(_("verb"), max_length=10, choices=VerbName)
    job_filter = models.JSONField(_("job filter"), help_text=_("Which jobs, as tasksapp.jobs.job_filter writes it."))
    biz_type = models.ForeignKey(
        BizType, on_delete=models.SET_NULL, null=True, blank=True, related_name="operations", verbose_name=_("biz type")
    )
    tenant = of_tenant(null=True, blank=True, db_index=False, help_text=_("Empty: jobs of all tenants."))
    biz_type_ids = models.JSONField(
        _("biz type ids"), default=list, blank=True, db_default=[], help_text=_("Only these; empty: all of its tenant.")
    )
    due_at = models.DateTimeField(
        _("due at"), null=True, blank=True, help_text=_("The new time, of jobs that are rescheduled.")
    )
    reason = models.CharField(_("reason"), max_length=500, blank=True)
    rate_per_second = models.FloatField(
        _("rate per second"), null=True, blank=True, help_text=_("Jobs a second; empty: as fast as possible.")
    )
    trial_jobs = models.PositiveIntegerField(_("trial jobs"), default=0, help_text=_("So many go first; 0: no trial."))
    trial_percent = models.PositiveSmallIntegerField(
        _("trial percent"), default=90, validators=[MaxValueValidator(100)]
    )

    state = models.CharField(_("state"), max_length=10, choices=State, default=State.PLANNING)
    state_reason = models.CharField(
        _("state reason"), max_length=500, blank=True, help_text=_("Why it stopped or failed.")
    )
    planned = models.PositiveIntegerField(
        _("planned"), null=True, blank=True, help_text=_("Jobs that matched when it was planned.")
    )
    done = models.PositiveIntegerField(_("done"), default=0, help_text=_("Jobs that the verb changed."))
    left = models.PositiveIntegerField(
        _("left"), default=0, help_text=_("Jobs that had changed meanwhile and were left alone.")
    )
    succeeded = models.PositiveIntegerField(
        _("succeeded"), default=0, help_text=_("Of the changed jobs: those that succeeded since.")
    )
    failed = models.PositiveIntegerField(
        _("failed"), default=0, help_text=_("Attempts of the changed jobs that failed since.")
    )
    dead = models.PositiveIntegerField(
        _("dead"), default=0, help_text=_("Of the changed jobs: those that are dead since.")
    )
    cursor = models.JSONField(
        _("cursor"), default=dict, blank=True, help_text=_("Where the walk over the rows goes on.")
    )

    started_by = models.CharField(
        _("started by"), max_length=150, help_text=_("The name, which stays when the account goes.")
    )
    # No foreign key: a project may have the API without accounts, and accounts may have keys of any type.
    user_id = models.CharField(
        _("user id"), max_length=64, null=True, blank=True, help_text=_("The account's primary key, as text.")
    )
    api_key = models.ForeignKey(
        ApiKey, on_delete=models.SET_NULL, null=True, blank=True, related_name="+", db_index=False
    )
    created_at = models.DateTimeField(_("created at"), auto_now_add=True)
    planned_at = models.DateTimeField(_("planned at"), null=True, blank=True)
    started_at = models.DateTimeField(_("started at"), null=True, blank=True)
    finished_at = models.DateTimeField(_("finished at"), null=True, blank=True)
    updated_at = models.DateTimeField(_("updated at"), auto_now=True)

    class Meta:
        db_table = "delayhub_operation"
        verbose_name = _("operation")
        verbose_name_plural = _("operations")
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
