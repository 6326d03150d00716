"""ApiKey: who may call the API."""

from __future__ import annotations

from django.db import models
from django.utils.translation import gettext_lazy as _

from delayhub.secrecy import Secrecy
from tasksapp.models.columns import marked, optional_text
from tasksapp.models.tenant import of_tenant


class Scope(models.TextChoices):
    """What a key may do."""

    JOBS_READ = "jobs:read", _("read jobs, attempts and operations")
    JOBS_WRITE = "jobs:write", _("create, change and cancel jobs")
    JOBS_ACT = "jobs:act", _("run now, redrive and drop jobs, and start operations")
    JOBS_LINK = "jobs:link", _("make links by which people answer jobs")
    JOBS_EXPORT = "jobs:export", _("export jobs with their bodies")
    JOBS_BODY = "jobs:body", _("show agents bodies and answers of receivers")
    JOBS_PULL = "jobs:pull", _("claim jobs that are pulled, and say what became of them")
    BIZ_TYPES_READ = "biz-types:read", _("read biz types")
    BIZ_TYPES_WRITE = "biz-types:write", _("add, change, pause and test biz types")
    KEYS = "keys", _("issue and revoke API keys")
    STATS = "stats", _("read numbers and the audit")


#: What keys of a tenant say that is just being moved to another site.
MOVING = "moving"

#: An id that no biz type has: who is limited to it sees none. An empty list would be all of them.
NO_BIZ_TYPE = 0

#: What a key may do where nothing is said: what every key could before there were scopes.
USUAL_SCOPES = [Scope.JOBS_READ.value, Scope.JOBS_WRITE.value, Scope.JOBS_ACT.value, Scope.BIZ_TYPES_READ.value]


def usual_scopes() -> list[str]:
    """A new list of the usual scopes."""
    return list(USUAL_SCOPES)


class ApiKey(models.Model):
    """A caller's key. The key itself is shown once and kept as a hash; ``tasksapp.access.keys`` issues it."""

    name = models.CharField(_("name"), max_length=200)
    prefix = models.CharField(
        _("prefix"), max_length=16, unique=True, help_text=_("How the key begins; finds the row.")
    )
    hashed_key = marked(Secrecy.SECRET, models.CharField(_("hashed key"), max_length=128))
    tenant = of_tenant()
    owner = optional_text(_("owner"), longest=200, help_text=_("Who answers for its use."))
    scopes = models.JSONField(_("scopes"), default=usual_scopes, db_default=USUAL_SCOPES)
    biz_type_ids = models.JSONField(
        _("biz types"), default=list, blank=True, db_default=[], help_text=_("Only these; empty: all of its tenant.")
    )
    version = models.PositiveIntegerField(
        _("version"), default=1, db_default=1, editable=False, help_text=_("Grows with each change of what it may do.")
    )
    previous_prefix = optional_text(longest=16, editable=False)
    previous_hashed_key = marked(Secrecy.SECRET, optional_text(longest=128, editable=False))
    previous_until = models.DateTimeField(null=True, blank=True, editable=False)
    #: Empty: its tenant is here. MOVING: it is on its way. Else the address of the site where it is.
    moved_to = optional_text(longest=300, editable=False)
    expires_at = models.DateTimeField(_("expires at"), null=True, blank=True, help_text=_("Empty: never."))
    enabled = models.BooleanField(_("enabled"), default=True)
    created_at = models.DateTimeField(_("created at"), auto_now_add=True)
    last_used_at = models.DateTimeField(_("last used at"), null=True, blank=True)
    last_used_from = models.GenericIPAddressField(_("last used from"), null=True, blank=True)

    class Meta:
        db_table = "delayhub_api_key"
        ordering = ["name"]
        verbose_name = _("API key")
        verbose_name_plural = _("API keys")
        constraints = [models.UniqueConstraint(fields=["tenant", "name"], name="delayhub_key_name")]
        indexes = [
            # Each request asks for a key by both prefixes.
            models.Index(
                fields=["previous_prefix"], condition=~models.Q(previous_prefix=""), name="delayhub_key_previous"
            )
        ]

    def __str__(self) -> str:
        return f"{self.name} ({self.prefix}…)"
