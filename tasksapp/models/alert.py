"""Alert: something that is wrong now, or was; messages about alerts, silences, and which process watches for them."""

from __future__ import annotations

from uuid import uuid4

from django.db import models
from django.utils.translation import gettext_lazy as _

from delayhub.secrecy import Secrecy
from tasksapp.models.columns import marked


class AlertKind(models.TextChoices):
    """What can be wrong; the first four are about the whole site."""

    DATABASE_AWAY = "database_away", _("database away")
    REDIS_AWAY = "redis_away", _("Redis away")
    NOT_DELIVERING = "not_delivering", _("no job is delivered")
    LATE_DELIVERY = "late_delivery", _("jobs may be late")
    BREAKER_OPEN = "breaker_open", _("receiver down")
    OVERDUE = "overdue", _("jobs overdue")
    KEY_BLOCKED = "key_blocked", _("flow keys blocked")
    CERTIFICATE_ENDS = "certificate_ends", _("certificate ends")
    CERTIFICATE_OVER = "certificate_over", _("certificate has ended")
    UNREADABLE = "unreadable", _("no key to decrypt")
    DEAD = "dead", _("jobs die")
    NO_FOLLOW_UP = "no_follow_up", _("no job follows")


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
    is_quiet = models.BooleanField(
        default=False, db_default=False, editable=False, help_text="It began in a silence, and nobody was told yet."
    )
    taken_by = models.CharField(
        _("taken by"),
        max_length=150,
        blank=True,
        default="",
        db_default="",
        help_text=_("Who sees to it: no more reminders."),
    )
    taken_at = models.DateTimeField(_("taken at"), null=True, blank=True)
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

    @property
    def key(self) -> tuple[str, int]:
        """What only one open alert has."""
        return self.kind, self.biz_type_id


class AlertSilence(models.Model):
    """For some time nobody is told of what begins: of one kind or all, of one biz type or the whole site and all."""

    kind = models.CharField(_("kind"), max_length=40, blank=True, choices=AlertKind, help_text=_("Empty: all kinds."))
    biz_type_id = models.BigIntegerField(
        _("biz type id"), null=True, blank=True, help_text=_("0: the site itself; empty: the site and all biz types.")
    )
    began_at = models.DateTimeField(_("began at"))
    until = models.DateTimeField(_("until"))
    by = models.CharField(_("by"), max_length=150)
    reason = models.CharField(_("reason"), max_length=500)

    class Meta:
        db_table = "delayhub_alert_silence"
        ordering = ["until", "id"]
        verbose_name = _("silence of alerts")
        verbose_name_plural = _("silences of alerts")

    def __str__(self) -> str:
        return f"{self.kind or 'all'} {self.biz_type_id if self.biz_type_id is not None else 'everywhere'}"

    def covers(self, kind: str, biz_type_id: int) -> bool:
        """Whether an alert of that kind and biz type is one of which nobody is told."""
        return self.kind in ("", kind) and self.biz_type_id in (None, biz_type_id)


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


class AlertWatch(models.Model):
    """The seat of the one process that watches: a single row."""

    holder = models.CharField(max_length=64, blank=True)
    is_worker = models.BooleanField(default=False, help_text="A web process may take a worker's seat at any time.")
    until = models.DateTimeField(help_text="By the clock of the database.")

    class Meta:
        db_table = "delayhub_alert_watch"
        verbose_name = "alert watch"

    def __str__(self) -> str:
        return self.holder
