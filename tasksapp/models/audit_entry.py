"""AuditEntry: who did what to a job, a biz type, a key or an operation, when, and from where."""

from __future__ import annotations

from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _


class AuditEntry(models.Model):
    """One deed of a person, a key or a receiver. It refers to rows by their ids, so it outlives them."""

    at = models.DateTimeField(_("at"), db_index=True)
    actor = models.CharField(_("actor"), max_length=150, help_text=_("ada, api:checkout, op 17, or receiver."))
    address = models.GenericIPAddressField(
        _("address"), null=True, blank=True, help_text=_("Where the request came from.")
    )
    verb = models.CharField(_("verb"), max_length=40)
    job_id = models.UUIDField(_("job id"), null=True, blank=True)
    biz_type_id = models.BigIntegerField(_("biz type id"), null=True, blank=True)
    operation_id = models.BigIntegerField(_("operation id"), null=True, blank=True)
    what = models.CharField(
        _("what"), max_length=200, blank=True, help_text=_("The name of what was changed, as it was then.")
    )
    before = models.JSONField(_("before"), default=dict, blank=True)
    after = models.JSONField(_("after"), default=dict, blank=True)
    reason = models.CharField(_("reason"), max_length=500, blank=True)

    class Meta:
        db_table = "delayhub_audit_entry"
        ordering = ["-id"]
        verbose_name = _("audit entry")
        verbose_name_plural = _("audit entries")
        indexes = [
            models.Index(fields=["job_id", "id"], condition=models.Q(job_id__isnull=False), name="delayhub_audit_job"),
            models.Index(
                fields=["biz_type_id", "id"],
                condition=models.Q(biz_type_id__isnull=False),
                name="delayhub_audit_biz_type",
            ),
            # What the list filters by, in its own order.
            models.Index(fields=["actor", "id"], name="delayhub_audit_actor"),
            models.Index(fields=["verb", "id"], name="delayhub_audit_verb"),
        ]

    def __str__(self) -> str:
        return f"{self.actor} {timezone.localtime(self.at):%Y-%m-%d %H:%M:%S}"
