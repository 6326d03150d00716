"""PausedKey: a flow key whose jobs wait, while those of other keys of its biz type go on."""

from __future__ import annotations

from typing import Any

from django.db import models
from django.utils.translation import gettext_lazy as _

from tasksapp.models.biz_type import BizType


class PausedKey(models.Model):
    """A flow key of a biz type that a person paused."""

    biz_type: models.ForeignKey[Any, Any] = models.ForeignKey(
        BizType, on_delete=models.CASCADE, related_name="+", db_index=False, verbose_name=_("biz type")
    )
    flow_key = models.CharField(_("flow key"), max_length=100)
    until = models.DateTimeField(_("paused until"))
    paused_at = models.DateTimeField(_("paused at"))
    paused_by = models.CharField(_("paused by"), max_length=150, blank=True, default="", db_default="")
    reason = models.CharField(_("pause reason"), max_length=500, blank=True, default="", db_default="")

    class Meta:
        db_table = "delayhub_paused_key"
        verbose_name = _("paused flow key")
        verbose_name_plural = _("paused flow keys")
        constraints = [models.UniqueConstraint(fields=["biz_type", "flow_key"], name="delayhub_paused_key_once")]

    def __str__(self) -> str:
        return self.flow_key
