"""IdempotencyKey: which job a request made, so that the same request makes no second one."""

from __future__ import annotations

from django.db import models

from tasksapp.models.biz_type import BizType


class IdempotencyKey(models.Model):
    """A key that a caller sent with a request. It has a table of its own, so that it outlives a job that is purged."""

    biz_type = models.ForeignKey(BizType, on_delete=models.CASCADE, related_name="+", db_index=False)
    key = models.CharField(max_length=200)
    request_hash = models.CharField(max_length=64, help_text="SHA-256 of the canonical request.")
    job_id = models.UUIDField()
    expires_at = models.DateTimeField(db_index=True)

    class Meta:
        db_table = "delayhub_idempotency_key"
        verbose_name = "idempotency key"
        constraints = [models.UniqueConstraint(fields=["biz_type", "key"], name="delayhub_idempotency_key_once")]

    def __str__(self) -> str:
        return self.key
