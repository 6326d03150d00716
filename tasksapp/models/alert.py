"""Alert: something that is wrong now, or was, and whether its owner has been told."""

from __future__ import annotations

from django.db import models
from django.utils.translation import gettext_lazy as _


class Alert(models.Model):
    """One thing that is wrong, from when it began until it is over; one is open for each kind and biz type."""

    kind = models.CharField(_("kind"), max_length=40)
    biz_type_id = models.BigIntegerField(_("biz type id"), default=0, help_text=_("0: the whole site."))
    began_at = models.DateTimeField(_("began at"))
    ended_at = models.DateTimeField(_("ended at"), null=True, blank=True)
    sentence = models.CharField(_("what is wrong"), max_length=500)
    facts = models.JSONField(_("facts"), default=dict, blank=True)
    told_at = models.DateTimeField(_("told at"), null=True, blank=True)
    recovery_told_at = models.DateTimeField(_("recovery told at"), null=True, blank=True)
    failed_sends = models.PositiveIntegerField(_("failed sends"), default=0)
    last_error = models.CharField(_("last error"), max_length=500, blank=True)

    class Meta:
        db_table = "delayhub_alert"
        ordering = ["-id"]
        verbose_name = _("alert")
        verbose_name_plural = _("alerts")
        constraints = [
            models.UniqueConstraint(
                fields=["kind", "biz_type_id"],
                condition=models.Q(ended_at=None),
                name="delayhub_alert_open_once",
            )
        ]

    def __str__(self) -> str:
        return self.sentence
