"""Alert: something that is wrong now, or was."""

from __future__ import annotations

from django.db import models
from django.utils.translation import gettext_lazy as _


class AlertKind(models.TextChoices):
    """What can be wrong; the first four are about the whole site."""

    DATABASE_AWAY = "database_away", _("database away")
    REDIS_AWAY = "redis_away", _("Redis away")
    NOT_DELIVERING = "not_delivering", _("no job is delivered")
    LATE_DELIVERY = "late_delivery", _("jobs may be late")
    BREAKER_OPEN = "breaker_open", _("receiver down")
    OVERDUE = "overdue", _("jobs overdue")
    DEAD = "dead", _("jobs die")


class Alert(models.Model):
    """One thing that is wrong, from when it began until it is over; one is open for each kind and biz type."""

    kind = models.CharField(_("kind"), max_length=40, choices=AlertKind)
    biz_type_id = models.BigIntegerField(_("biz type id"), default=0, help_text=_("0: the whole site."))
    began_at = models.DateTimeField(_("began at"))
    ended_at = models.DateTimeField(_("ended at"), null=True, blank=True)
    sentence = models.CharField(_("what is wrong"), max_length=500)
    facts = models.JSONField(_("facts"), default=dict, blank=True)
    told_at = models.DateTimeField(_("told at"), null=True, blank=True)
    reminded_at = models.DateTimeField(_("reminded at"), null=True, blank=True)
    recovery_told_at = models.DateTimeField(_("recovery told at"), null=True, blank=True)
    clear_since = models.DateTimeField(null=True, blank=True, editable=False)
    returns = models.PositiveIntegerField(
        _("returns"), default=0, db_default=0, help_text=_("How often it came back soon after it was over.")
    )

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
        indexes = [models.Index(fields=["ended_at"], name="delayhub_alert_ended")]

    def __str__(self) -> str:
        return self.sentence

    @property
    def is_open(self) -> bool:
        """Whether it is wrong still."""
        return self.ended_at is None
