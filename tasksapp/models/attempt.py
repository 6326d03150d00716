"""Attempt: one try to deliver a job."""

from __future__ import annotations

from uuid import UUID

from django.db import models
from django.utils.functional import cached_property
from django.utils.translation import gettext_lazy as _

from tasksapp.models.job import Job, is_sealed_job
from tasksapp.models.sealable import SealableChars, SealableJson, SealableText
from tasksapp.models.sealed_value import SHORT_LENGTH


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
    request_line = SealableText(
        _("request line"), blank=True, default="", db_default="", help_text=_("Method and address, as sent.")
    )
    request_headers = SealableJson(
        _("request headers"), default=dict, db_default={}, blank=True, help_text=_("As sent, secrets masked.")
    )
    status_code = models.PositiveSmallIntegerField(_("status code"), null=True, blank=True)
    response_headers = SealableJson(_("response headers"), default=dict, blank=True)
    response_body = SealableText(_("response body"), blank=True)
    error = SealableChars(
        _("error"), max_length=SHORT_LENGTH, blank=True, help_text=_("Why it failed; empty where it did not.")
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

    @cached_property
    def is_sealed(self) -> bool:
        """Whether its job is encrypted at rest."""
        return is_sealed_job(self.job_id, using=self._state.db)

    @property
    def seal_place(self) -> str:
        """Where its values are encrypted for, before the name of their column."""
        return attempt_place(self.job_id, self.number)


def attempt_place(job_id: UUID, number: int) -> str:
    """Where values of an attempt are encrypted for, before the name of their column."""
    return f"{job_id}/{number}"
