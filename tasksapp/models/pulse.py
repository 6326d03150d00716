"""Pulse: how many jobs of a biz type came to what, in a minute or in an hour, and since they were first counted."""

from __future__ import annotations

from django.db import models

from tasksapp.models.biz_type import BizType


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
        HELD = "held", "milliseconds from the claims to the written outcomes, all together"
        DRAIN = "drain", "attempts that began late; the key is the second of the minute"

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
