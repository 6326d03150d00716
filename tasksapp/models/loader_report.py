"""LoaderReport: where the loaders of this database keep the timers, and when each last had a turn."""

from __future__ import annotations

from django.db import models


class LoaderReport(models.Model):
    """What the loader of one Redis reports every few seconds, so that a process on another Redis notices that."""

    epoch = models.CharField(max_length=64, unique=True, help_text="Of the timers in that Redis; it is kept there too.")
    redis = models.CharField(max_length=500, help_text="Where that is, without credentials.")
    worker = models.CharField(max_length=200)
    seen_at = models.DateTimeField(help_text="By the clock of the database.")

    class Meta:
        db_table = "delayhub_loader_report"
        verbose_name = "loader report"

    def __str__(self) -> str:
        return self.redis
