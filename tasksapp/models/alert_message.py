"""AlertMessage: what was sent, or is to be sent, about alerts."""

from __future__ import annotations

from uuid import uuid4

from django.db import models
from django.utils.translation import gettext_lazy as _

from delayhub.secrecy import Secrecy
from tasksapp.models.alert import Alert
from tasksapp.models.column_secrecy import marked


class AlertMessage(models.Model):
    """One message to one address about some alerts: it waits, was sent, or was given up."""

    class Channel(models.TextChoices):
        MAIL = "mail", _("mail")
        WEBHOOK = "webhook", _("webhook")

    uid = models.UUIDField(default=uuid4, unique=True, editable=False)
    channel = models.CharField(_("by"), max_length=10, choices=Channel)
    address = marked(Secrecy.HOST, models.CharField(_("address"), max_length=2000))
    subject = models.CharField(_("subject"), max_length=300)
    text = models.TextField(_("text"))
    payload = models.JSONField(default=dict)
    alerts = models.ManyToManyField(Alert, related_name="messages", db_table="delayhub_alert_message_alerts")
    created_at = models.DateTimeField(_("created at"))
    sent_at = models.DateTimeField(_("sent at"), null=True, blank=True)
    given_up_at = models.DateTimeField(_("given up at"), null=True, blank=True)
    next_at = models.DateTimeField(null=True, blank=True, help_text=_("When it is sent next; empty: never again."))
    failed_sends = models.PositiveIntegerField(_("failed sends"), default=0)
    last_error = models.CharField(_("last error"), max_length=500, blank=True)

    class Meta:
        db_table = "delayhub_alert_message"
        ordering = ["-id"]
        verbose_name = _("alert message")
        verbose_name_plural = _("alert messages")
        indexes = [
            models.Index(
                fields=["next_at"], condition=models.Q(next_at__isnull=False), name="delayhub_alert_message_due"
            )
        ]

    def __str__(self) -> str:
        return self.subject
