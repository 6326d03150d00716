"""The inbox's table, for migrations; ``once`` uses it by SQL."""

from __future__ import annotations

from django.db import models

from delayhub.receiver.inbox_table import KEY_LENGTH, TABLE


class ReceivedCallback(models.Model):
    """A callback whose work is done."""

    id = models.CharField(primary_key=True, max_length=KEY_LENGTH)
    received_at = models.BigIntegerField(help_text="Unix seconds, by the receiver's clock.")
    action = models.CharField(max_length=20, blank=True, default="", db_default="")

    class Meta:
        app_label = "delayhub_receiver"
        db_table = TABLE
        indexes = [models.Index(fields=["received_at"], name=f"{TABLE}_received_at")]
