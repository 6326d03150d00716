"""ApiKey: who may call the API."""

from __future__ import annotations

from django.db import models


class ApiKey(models.Model):
    """A caller's key. The key itself is shown once and kept as a hash; ``tasksapp.access.keys`` issues it."""

    name = models.CharField(max_length=200, unique=True)
    prefix = models.CharField(max_length=16, unique=True, help_text="How the key begins; finds the row.")
    hashed_key = models.CharField(max_length=128)
    enabled = models.BooleanField(default=True)
    created_at = models.DateTimeField(auto_now_add=True)
    last_used_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        db_table = "delayhub_api_key"
        ordering = ["name"]
        verbose_name = "API key"

    def __str__(self) -> str:
        return f"{self.name} ({self.prefix}…)"
