"""Job: the row a user sees, with what is to happen, when, for whom, and how it went."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any, Protocol
from uuid import UUID

from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from tasksapp.models.biz_type import BizType
from tasksapp.models.columns import optional_text
from tasksapp.models.job_id import new_job_id
from tasksapp.models.new_job import Carried, NewJob, seal_place
from tasksapp.models.sealable import SealableChars
from tasksapp.models.sealed_value import MARK, SHORT_LENGTH
from tasksapp.models.series import Series
from tasksapp.models.transition import Status

#: Who made a job that follows from what became of another one, as ``created_by`` says it.
FOLLOW_UP = "follow-up"


class Job(Carried):
    """Something to happen at its time. Its status changes only by a transition."""

    id = models.UUIDField(_("id"), primary_key=True, default=new_job_id, editable=False)
    biz_type = models.ForeignKey(
        BizType, on_delete=models.PROTECT, related_name="jobs", db_index=False, verbose_name=_("biz type")
    )
    debounce_key = optional_text(
        _("debounce key"), longest=200, help_text=_("Held until a worker first takes the job.")
    )
    live_key = models.CharField(
        _("live key"),
        max_length=200,
        null=True,
        blank=True,
        editable=False,
        help_text=_("Its biz id, where its biz type keeps one live job of each."),
    )
    status = models.CharField(_("status"), max_length=10, choices=Status, default=Status.PENDING)
    due_at = models.DateTimeField(_("due at"), help_text=_("What the caller asked for."))
    next_run_at = models.DateTimeField(
        _("next run at"), help_text=_("What the clock follows: the due time, or the next retry.")
    )
    expires_at = models.DateTimeField(
        _("expires at"), null=True, blank=True, help_text=_("No attempt begins from then on, unless it is redriven.")
    )
    attempts = models.PositiveIntegerField(_("attempts"), default=0, help_text=_("All attempts ever made."))
    attempt_base = models.PositiveIntegerField(
        _("attempt base"), default=0, help_text=_("Attempts made before the last redrive.")
    )
    redriven_at = models.DateTimeField(_("redriven at"), null=True, blank=True)
    redrives = models.PositiveIntegerField(
        _("redrives"), default=0, db_default=0, help_text=_("How often it was redriven.")
    )
    system_errors = models.PositiveIntegerField(_("system errors"), default=0)
    version = models.PositiveIntegerField(_("version"), default=1)
    lease_until = models.DateTimeField(_("lease until"), null=True, blank=True)
    place = models.BigIntegerField(
        _("place"), null=True, blank=True, help_text=_("Its place among the jobs of its flow key; empty: in no order.")
    )
    lease_token = models.BigIntegerField(_("lease token"), null=True, blank=True)
    worker = models.CharField(_("worker"), max_length=200, blank=True)
    traceparent = models.CharField(
        _("traceparent"), max_length=55, blank=True, help_text=_("W3C trace context of the request that made it.")
    )
    last_error = SealableChars(_("last error"), max_length=SHORT_LENGTH, blank=True)
    error_class = optional_text(_("error class"), longest=40, help_text=_("The kind of last_error, such as http.503."))
    created_by = optional_text(_("created by"), longest=150, help_text=_("Who made it; empty: the project's own code."))
    changed_by = optional_text(_("changed by"), longest=150, help_text=_("Who applied the last verb to it."))
    operation_id = models.BigIntegerField(
        _("operation id"), null=True, blank=True, help_text=_("The operation that last changed it.")
    )
    series: models.ForeignKey[Any, Any] = models.ForeignKey(
        Series,
        on_delete=models.DO_NOTHING,
        null=True,
        blank=True,
        related_name="jobs",
        db_index=False,
        db_constraint=False,  # what it made stays when a series is deleted
        verbose_name=_("series"),
        help_text=_("The series that it is one of."),
    )
    occurrence_at = models.DateTimeField(
        _("occurrence at"), null=True, blank=True, help_text=_("Which of its series; empty: triggered by hand.")
    )
    created_at = models.DateTimeField(_("created at"))
    updated_at = models.DateTimeField(_("updated at"))
    finished_at = models.DateTimeField(_("finished at"), null=True, blank=True)

    class Meta:
        db_table = "delayhub_job"
        verbose_name = _("job")
        verbose_name_plural = _("jobs")
        indexes = [
            models.Index(
                fields=["biz_type", "next_run_at", "id"], condition=Q(status="pending"), name="delayhub_job_pending"
            ),
            models.Index(fields=["lease_until"], condition=Q(status="running"), name="delayhub_job_running"),
            # In the order of bytes, so that it serves the beginnings of biz ids in every collation. Without the id: the
            # versions of a row, and all rows without a biz id, then share an entry.
            models.Index(
                fields=["biz_type", "biz_id"],
                opclasses=["int8_ops", "varchar_pattern_ops"],
                name="delayhub_job_biz_id_prefix",
            ),
            models.Index(fields=["id"], condition=Q(status="dead"), name="delayhub_job_dead"),
            # Without those that run, of which there are few: each claim would write an entry more. See decision 64.
            models.Index(
                fields=["biz_type", "flow_key", "id"],
                condition=Q(flow_key__gt="") & ~Q(status="running"),
                name="delayhub_job_key_not_running",
            ),
            models.Index(
                fields=["biz_type", "error_class", "finished_at"],
                condition=Q(status="dead"),
                name="delayhub_job_error_class",
            ),
            models.Index(
                fields=["operation_id", "id"],
                condition=Q(operation_id__isnull=False),
                name="delayhub_job_operation",
            ),
            models.Index(
                fields=["biz_type", "finished_at", "id"], condition=Q(status="dead"), name="delayhub_job_died"
            ),
            # So that a list of those does not walk past millions that succeeded.
            models.Index(
                fields=["status", "id"],
                condition=Q(status__in=["cancelled", "skipped", "dropped"]),
                name="delayhub_job_called_off",
            ),
            models.Index(
                fields=["biz_type", "finished_at"],
                condition=Q(finished_at__isnull=False),
                name="delayhub_job_finished",
            ),
            # None of jobs that are in no order, and so none of those of most biz types.
            models.Index(
                fields=["biz_type", "flow_key", "due_at", "place"],
                condition=Q(place__isnull=False, status__in=["pending", "running", "dead"]),
                name="delayhub_job_place",
            ),
            models.Index(fields=["series", "id"], condition=Q(series__isnull=False), name="delayhub_job_series"),
        ]
        constraints = [
            models.UniqueConstraint(
                fields=["biz_type", "debounce_key"],
                condition=Q(status="pending", debounce_key__gt=""),
                name="delayhub_job_debounce_key",
            ),
            models.UniqueConstraint(
                fields=["series", "occurrence_at"],
                condition=Q(occurrence_at__isnull=False),
                name="delayhub_job_occurrence",
            ),
            models.UniqueConstraint(
                fields=["biz_type", "live_key"],
                condition=Q(live_key__isnull=False, status__in=["pending", "running"]),
                name="delayhub_job_one_live",
            ),
        ]
        permissions = [
            ("view_job_body", "Can see bodies of jobs and answers of receivers"),
            ("export_job", "Can export jobs with their bodies"),
            ("run_now_job", "Can run jobs now"),
            ("reschedule_job", "Can move jobs to another time and edit waiting ones"),
            ("redrive_job", "Can redrive dead jobs"),
            ("cancel_job", "Can cancel jobs"),
            ("drop_job", "Can drop dead jobs"),
        ]

    def __str__(self) -> str:
        return f"{self.id} ({self.status})"

    @classmethod
    def of(cls, new: NewJob, *, now: datetime, created_by: str = "") -> Job:
        """The job as it is when it is created."""
        shared = {"next_run_at": new.due_at, "created_at": now, "updated_at": now, "created_by": created_by}
        return cls(**FIRST_VALUES, **new._asdict(), **shared)

    @property
    def seal_place(self) -> str:
        """Where its values are encrypted for, before the name of their column."""
        return seal_place(self.biz_type_id, self.id)

    @property
    def attempts_used(self) -> int:
        """Attempts of the current budget: since the last redrive."""
        return self.attempts - self.attempt_base


def is_sealed_job(job_id: UUID, *, using: str | None) -> bool:
    """Whether the job of that id is encrypted at rest."""
    return Job.objects.using(using).filter(pk=job_id, request__startswith=MARK).exists()


#: Columns that are the due time at first, the time of creation, or the name of who creates it.
FOLLOWING = ("next_run_at", "created_at", "updated_at", "created_by")
#: The values with which all other columns begin.
FIRST_VALUES: dict[str, Any] = {
    field.attname: field.get_default()
    for field in Job._meta.concrete_fields
    if field.attname not in {*NewJob._fields, *FOLLOWING}
}


class Aging(Protocol):
    """A job, or a part of its row, that says when its age begins."""

    @property
    def due_at(self) -> datetime: ...

    @property
    def redriven_at(self) -> datetime | None: ...


def age_begins(job: Aging) -> datetime:
    """From when a job's age is counted."""
    return job.redriven_at or job.due_at


def age_used_up(*, now: datetime, counted_from: datetime, max_age: timedelta | None) -> bool:
    """Whether an attempt may no longer begin at that moment.

    The claim in ``tasksapp/sql`` has the same rule in SQL; a test compares the two.
    """
    # A difference: the sum of due time and age may lie beyond the last date there is.
    return max_age is not None and now - counted_from > max_age
