"""Tombstone: a business key that is resolved, so that none of its jobs fires any more."""

from __future__ import annotations

from django.db import models
from django.utils.translation import gettext_lazy as _

from tasksapp.models.biz_type import BizType


class Tombstone(models.Model):
    """What the claim finds for a job whose business key was resolved: the job is cancelled.

    It holds for each job that was created before ``until``, also where the job's transaction committed later. It is
    pruned after that time, together with the jobs that it still held.
    """

    biz_type = models.ForeignKey(
        BizType, on_delete=models.CASCADE, related_name="+", db_index=False, verbose_name=_("biz type")
    )
    biz_id = models.CharField(_("biz id"), max_length=200)
    at = models.DateTimeField(_("resolved at"))
    until = models.DateTimeField(_("until"), db_index=True, help_text=_("Jobs created before do not fire."))
    by = models.CharField(_("by"), max_length=150, blank=True, default="", db_default="")

    class Meta:
        db_table = "delayhub_tombstone"
        verbose_name = _("tombstone")
        verbose_name_plural = _("tombstones")
        constraints = [models.UniqueConstraint(fields=["biz_type", "biz_id"], name="delayhub_tombstone_once")]

    def __str__(self) -> str:
        return self.biz_id
