"""AlertWatch: which process watches for alerts."""

from __future__ import annotations

from django.db import models


class AlertWatch(models.Model):
    """The seat of the one process that watches: a single row."""

    holder = models.CharField(max_length=64, blank=True)
    is_worker = models.BooleanField(default=False, help_text="A web process may take a worker's seat at any time.")
    until = models.DateTimeField(help_text="By the clock of the database.")

    class Meta:
        db_table = "delayhub_alert_watch"
        verbose_name = "alert watch"

    def __str__(self) -> str:
        return self.holder
