"""MissingFollowUp: what was to follow from a job could not be made, until a person lets it be made again."""

from __future__ import annotations

from django.db import models
from django.db.models import Exists, OuterRef, QuerySet
from django.utils.translation import gettext_lazy as _

from tasksapp.models.biz_type import BizType
from tasksapp.models.job import Job


class MissingFollowUp(models.Model):
    """A job that has ended without what was to follow from that. It is deleted with its job.

    ``at`` is when the job has ended so: after a redrive it is another end.
    """

    biz_type = models.ForeignKey(BizType, on_delete=models.CASCADE, related_name="+", verbose_name=_("biz type"))
    job_id = models.UUIDField(_("job id"), unique=True)
    at = models.DateTimeField(_("at"), db_index=True)

    class Meta:
        db_table = "delayhub_missing_follow_up"
        verbose_name = _("missing follow-up")
        verbose_name_plural = _("missing follow-ups")

    def __str__(self) -> str:
        return str(self.job_id)

    @classmethod
    def of_now(cls, *, using: str | None) -> QuerySet[MissingFollowUp]:
        """Those of jobs that have not been redriven since."""
        ended = Job.objects.filter(id=OuterRef("job_id"), finished_at=OuterRef("at"))
        return cls._default_manager.using(using).filter(Exists(ended))
