"""Upcoming: how many pending jobs of a biz type run in a stretch of time ahead, as the loader counts them."""

from __future__ import annotations

from django.db import models

from tasksapp.models.biz_type import BizType


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
