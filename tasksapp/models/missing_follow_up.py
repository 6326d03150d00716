"""MissingFollowUp: what was to follow from a job could not be made, until a person lets it be made again."""

from __future__ import annotations

from django.db import models
from django.utils.translation import gettext_lazy as _

from tasksapp.models.biz_type import BizType


class MissingFollowUp(models.Model):
    """A job that has ended without what was to follow from that. It is deleted with its job.

    ``attempts`` are the job's when it ended so: after a redrive it is another end.
    """

    biz_type = models.ForeignKey(BizType, on_delete=models.CASCADE, related_name="+", verbose_name=_("biz type"))
    job_id = models.UUIDField(_("job id"), unique=True)
    attempts = models.PositiveIntegerField(_("attempts"))
    at = models.DateTimeField(_("at"), db_index=True)

    class Meta:
        db_table = "delayhub_missing_follow_up"
        verbose_name = _("missing follow-up")
        verbose_name_plural = _("missing follow-ups")

    def __str__(self) -> str:
        return str(self.job_id)
