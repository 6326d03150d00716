"""PulseTotal: the counters of the pulses since they were first counted. They only grow, as monitoring wants it."""

from __future__ import annotations

from django.db import models

from tasksapp.models.biz_type import BizType
from tasksapp.models.pulse import Pulse


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
