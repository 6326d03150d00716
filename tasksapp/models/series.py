"""Series: jobs that repeat. Its occurrences are jobs, made shortly before they are due."""

from __future__ import annotations

from datetime import UTC, timedelta
from typing import Any

from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from tasksapp.models.biz_type import BizType
from tasksapp.models.new_job import Carried, seal_place
from tasksapp.models.sealable import SealableBytes, SealableText

#: A series that was not looked at so long after its time has had an outage: no worker was there.
MISSED = timedelta(seconds=60)


class Series(Carried):
    """What is to happen again and again: the content of its jobs, when they are due, and how far they are made."""

    class Overlap(models.TextChoices):
        START = "start", _("start all the same")
        SKIP = "skip", _("skip the new one")
        CANCEL = "cancel", _("cancel the live one")

    class CatchUp(models.TextChoices):
        NONE = "none", _("none")
        LATEST = "latest", _("the latest")
        ALL = "all", _("all, up to 1,000")

    id: models.BigAutoField[Any, Any] = models.BigAutoField(primary_key=True)
    biz_type = models.ForeignKey(
        BizType, on_delete=models.PROTECT, related_name="series", db_index=False, verbose_name=_("biz type")
    )
    name = models.CharField(_("name"), max_length=100, help_text=_("Unique in its biz type."))
    declared_by = models.CharField(
        _("declared by"),
        max_length=250,
        blank=True,
        default="",
        editable=False,
        help_text=_("The task in code that declares it; empty: a person or a program made it."),
    )

    cron = models.CharField(
        _("cron"),
        max_length=200,
        blank=True,
        help_text=_("Five fields such as 0 9 * * 1-5, or six with seconds."),
    )
    time_zone = models.CharField(
        _("time zone"), max_length=64, default="UTC", help_text=_("That of the cron expression, such as Asia/Shanghai.")
    )
    every = models.DurationField(_("every"), null=True, blank=True, help_text=_("In the place of cron: an interval."))
    anchor = models.DateTimeField(
        _("anchor"), null=True, blank=True, help_text=_("One of the times that the interval leads to.")
    )
    times = models.JSONField(
        _("times"), default=list, blank=True, help_text=_("In the place of cron: a JSON list of times in ISO 8601.")
    )
    starts_at = models.DateTimeField(_("starts at"), null=True, blank=True, help_text=_("None is due before."))
    ends_at = models.DateTimeField(_("ends at"), null=True, blank=True, help_text=_("None is due after."))
    count = models.PositiveIntegerField(
        _("count"), null=True, blank=True, validators=[MinValueValidator(1)], help_text=_("It ends after so many.")
    )
    jitter = models.DurationField(
        _("jitter"),
        default=timedelta(0),
        help_text=_("Jobs are due up to so much later, so that not all start at once."),
    )
    overlap = models.CharField(
        _("overlap"),
        max_length=6,
        choices=Overlap,
        default=Overlap.START,
        help_text=_("What happens when one is due and the one before has not finished."),
    )
    catch_up = models.CharField(
        _("catch-up"),
        max_length=6,
        choices=CatchUp,
        default=CatchUp.LATEST,
        help_text=_("Which of those are run that were missed while nothing worked."),
    )

    # As jobs have them, but for what a series says of all of its jobs.
    body = SealableText(_("body"), default="null", help_text=_("The exact JSON text that is signed and sent."))
    raw = SealableBytes(
        _("exact bytes"),
        null=True,
        blank=True,
        help_text=_("The body of its jobs that is no JSON, byte for byte; empty: the body is JSON."),
    )
    priority = models.PositiveSmallIntegerField(  # type: ignore[assignment]  # a series may leave it to its biz type
        _("priority"), null=True, blank=True, validators=[MaxValueValidator(9)], help_text=_("0 goes first, 9 last.")
    )
    max_attempts = models.PositiveIntegerField(
        _("max attempts"),
        null=True,
        blank=True,
        validators=[MinValueValidator(1), MaxValueValidator(1000)],
        help_text=_("Empty: as the biz type says."),
    )

    paused_at = models.DateTimeField(_("paused at"), null=True, blank=True, editable=False)
    paused_by = models.CharField(_("paused by"), max_length=150, blank=True, default="", editable=False)
    pause_reason = models.CharField(_("pause reason"), max_length=500, blank=True, default="", editable=False)

    made = models.PositiveIntegerField(_("made"), default=0, editable=False, help_text=_("Occurrences made so far."))
    next_occurrence_at = models.DateTimeField(
        _("next occurrence at"), null=True, blank=True, editable=False, help_text=_("The first that is not made yet.")
    )
    make_at = models.DateTimeField(
        _("make at"), null=True, blank=True, editable=False, help_text=_("When maintenance makes more.")
    )
    live_job = models.UUIDField(
        _("live job"), null=True, blank=True, editable=False, help_text=_("Claimed and not finished, retries included.")
    )
    waiting_job = models.UUIDField(
        _("waiting job"), null=True, blank=True, editable=False, help_text=_("It begins when the live one has ended.")
    )
    version = models.PositiveIntegerField(_("version"), default=1, editable=False)
    changed_by = models.CharField(_("changed by"), max_length=150, blank=True, default="", editable=False)
    created_at = models.DateTimeField(_("created at"), editable=False)
    updated_at = models.DateTimeField(_("updated at"), editable=False)

    class Meta:
        db_table = "delayhub_series"
        verbose_name = _("series")
        verbose_name_plural = _("series")
        constraints = [models.UniqueConstraint(fields=["biz_type", "name"], name="delayhub_series_name_once")]
        indexes = [
            models.Index(fields=["make_at", "id"], condition=Q(make_at__isnull=False), name="delayhub_series_make_at"),
            models.Index(fields=["id"], condition=Q(live_job__isnull=False), name="delayhub_series_live"),
        ]
        permissions = [("pause_series", "Can pause, resume and trigger series")]

    def __str__(self) -> str:
        return self.label

    @property
    def label(self) -> str:
        """What a person knows it by: its biz type's label and its name."""
        return f"{self.biz_type.label} {self.name}"

    @property
    def seal_place(self) -> str:
        """Where its values are encrypted for: by what it is known before it has a number."""
        return seal_place(self.biz_type_id, f"{self.created_at.astimezone(UTC):%Y%m%dT%H%M%S.%f}")

    @property
    def is_paused(self) -> bool:
        """Whether it is paused."""
        return self.paused_at is not None
