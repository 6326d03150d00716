"""JobCount, DeadCount, Upcoming and TenantCount, which the loader counts, and Pulse: what came of jobs in a minute."""

from __future__ import annotations

from django.db import models
from django.utils.translation import gettext_lazy as _

from tasksapp.models.biz_type import BizType
from tasksapp.models.tenant import Tenant


class JobCount(models.Model):
    """The live and dead jobs of one biz type at one moment. Exact then; pages name the moment."""

    biz_type = models.OneToOneField(BizType, on_delete=models.CASCADE, primary_key=True, related_name="+")
    pending = models.BigIntegerField()
    due_now = models.BigIntegerField(help_text="Pending ones whose time has come.")
    running = models.BigIntegerField()
    dead = models.BigIntegerField()
    oldest_due_at = models.DateTimeField(null=True, blank=True)
    next_due_at = models.DateTimeField(null=True, blank=True)
    counted_at = models.DateTimeField()

    class Meta:
        db_table = "delayhub_job_count"

    def __str__(self) -> str:
        return f"{self.biz_type_id} at {self.counted_at}"


class DeadCount(models.Model):
    """The dead jobs of one biz type that failed alike."""

    biz_type = models.ForeignKey(BizType, on_delete=models.CASCADE, related_name="+", db_index=False)
    error_class = models.CharField(max_length=40, blank=True)
    dead = models.BigIntegerField()
    first_at = models.DateTimeField(null=True, blank=True, help_text="When the first of them died.")
    last_at = models.DateTimeField(null=True, blank=True, help_text="When the last of them died.")
    counted_at = models.DateTimeField()

    class Meta:
        db_table = "delayhub_dead_count"
        verbose_name = _("issue")
        verbose_name_plural = _("issues")
        constraints = [models.UniqueConstraint(fields=["biz_type", "error_class"], name="delayhub_dead_count_once")]

    def __str__(self) -> str:
        return f"{self.biz_type_id} {self.error_class}: {self.dead}"


class Upcoming(models.Model):
    """The pending jobs that run in one stretch of time."""

    biz_type = models.ForeignKey(BizType, on_delete=models.CASCADE, related_name="+", db_index=False)
    at = models.DateTimeField(help_text="When the stretch begins.")
    span_seconds = models.PositiveIntegerField(help_text="300 for the next day, 86400 for the next 30 days.")
    jobs = models.BigIntegerField()
    counted_at = models.DateTimeField()

    class Meta:
        db_table = "delayhub_upcoming"
        constraints = [
            models.UniqueConstraint(fields=["biz_type", "span_seconds", "at"], name="delayhub_upcoming_once")
        ]

    def __str__(self) -> str:
        return f"{self.biz_type_id} at {self.at}: {self.jobs}"


class TenantCount(models.Model):
    """How much a tenant has of what its quotas limit."""

    tenant = models.OneToOneField(Tenant, on_delete=models.CASCADE, primary_key=True, related_name="counted")
    pending_jobs = models.BigIntegerField()
    pending_bytes = models.BigIntegerField(help_text="Of their bodies; estimated where they are many.")
    series = models.BigIntegerField()
    biz_types = models.BigIntegerField()
    api_keys = models.BigIntegerField()
    counted_at = models.DateTimeField()

    class Meta:
        db_table = "delayhub_tenant_count"

    def __str__(self) -> str:
        return f"{self.tenant_id} at {self.counted_at}"


class Pulse(models.Model):
    """A counter. Each process adds to it; minutes are summed into longer stretches, and deleted after two days."""

    class Kind(models.TextChoices):
        CREATED = "created", "jobs that were created"
        SUCCEEDED = "succeeded", "attempts that succeeded"
        FAILED = "failed", "attempts that failed; the key is the error class"
        DEAD = "dead", "jobs that died; the key is the error class"
        LATENESS = "lateness", "lateness of attempts; the key is the bucket"
        DURATION = "duration", "duration of attempts; the key is the bucket"
        BUSY = "busy", "milliseconds that attempts took, all together"

    biz_type = models.ForeignKey(BizType, on_delete=models.CASCADE, related_name="+", db_index=False)
    at = models.DateTimeField(help_text="When the minute or the hour began.")
    span_seconds = models.PositiveIntegerField(help_text="60, 600 or 3600.")
    kind = models.CharField(max_length=10, choices=Kind)
    key = models.CharField(max_length=40, blank=True)
    count = models.BigIntegerField()

    class Meta:
        db_table = "delayhub_pulse"
        indexes = [
            # Deaths are a small part of all, and each page of issues sums those of a day.
            models.Index(fields=["span_seconds", "at"], condition=models.Q(kind="dead"), name="delayhub_pulse_dead")
        ]
        constraints = [
            # The length of the stretch first: a chart of 30 days reads hours and must not walk past the minutes.
            models.UniqueConstraint(
                fields=["span_seconds", "at", "biz_type", "kind", "key"], name="delayhub_pulse_of_stretch"
            )
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.key} at {self.at}: {self.count}"


class PulseTotal(models.Model):
    """A counter that never falls, although the pulses behind it are deleted after a time."""

    biz_type = models.ForeignKey(BizType, on_delete=models.CASCADE, related_name="+", db_index=False)
    kind = models.CharField(max_length=10, choices=Pulse.Kind)
    key = models.CharField(max_length=40, blank=True)
    count = models.BigIntegerField()

    class Meta:
        db_table = "delayhub_pulse_total"
        constraints = [
            models.UniqueConstraint(fields=["biz_type", "kind", "key"], name="delayhub_pulse_total_of_biz_type")
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.key}: {self.count}"
