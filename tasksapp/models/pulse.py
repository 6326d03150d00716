"""Pulse: how many jobs of a biz type came to what, in a minute or in an hour."""

from __future__ import annotations

from django.db import models

from tasksapp.models.biz_type import BizType


class Pulse(models.Model):
    """A counter. Each process adds to it; minutes are folded into hours after two days."""

    class Kind(models.TextChoices):
        SUCCEEDED = "succeeded", "attempts that succeeded"
        FAILED = "failed", "attempts that failed; the key is the error class"
        DEAD = "dead", "jobs that died; the key is the error class"
        LATENESS = "lateness", "lateness of attempts; the key is the bucket"
        DURATION = "duration", "duration of attempts; the key is the bucket"

    biz_type = models.ForeignKey(BizType, on_delete=models.CASCADE, related_name="+", db_index=False)
    at = models.DateTimeField(help_text="When the minute or the hour began.")
    span_seconds = models.PositiveIntegerField(help_text="60 or 3600.")
    kind = models.CharField(max_length=10, choices=Kind)
    key = models.CharField(max_length=40, blank=True)
    count = models.BigIntegerField()

    class Meta:
        db_table = "delayhub_pulse"
        constraints = [
            models.UniqueConstraint(
                fields=["at", "biz_type", "span_seconds", "kind", "key"], name="delayhub_pulse_once"
            )
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.key} at {self.at}: {self.count}"
