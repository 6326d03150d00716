"""JobCount, DeadCount, Upcoming and TenantCount: how many jobs there are and will be, as the loader counts them."""

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
    first_at = models.DateTimeField(null=True, blank=True, help_text="When the first of them runs.")
    last_at = models.DateTimeField(null=True, blank=True, help_text="When the last of them runs.")
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
