"""ApiKey: who may call the API."""

from __future__ import annotations

from django.db import models
from django.utils.translation import gettext_lazy as _


class ApiKey(models.Model):
    """A caller's key. The key itself is shown once and kept as a hash; ``tasksapp.access.keys`` issues it."""

    name = models.CharField(_("name"), max_length=200, unique=True)
    prefix = models.CharField(
        _("prefix"), max_length=16, unique=True, help_text=_("How the key begins; finds the row.")
    )
    hashed_key = models.CharField(_("hashed key"), max_length=128)
    enabled = models.BooleanField(_("enabled"), default=True)
    created_at = models.DateTimeField(_("created at"), auto_now_add=True)
    last_used_at = models.DateTimeField(_("last used at"), null=True, blank=True)

    class Meta:
        db_table = "delayhub_api_key"
        ordering = ["name"]
        verbose_name = _("API key")
        verbose_name_plural = _("API keys")

    def __str__(self) -> str:
        return f"{self.name} ({self.prefix}…)"
