"""Tenant: a customer or team whose biz types and API keys the others do not see."""

from __future__ import annotations

from typing import Any

from django.core.management.color import no_style
from django.core.validators import MaxValueValidator
from django.db import connections, models
from django.utils.translation import gettext_lazy as _

from tasksapp.models.columns import CODE

#: The id of the tenant that everything belongs to where no other is named. A migration makes it.
DEFAULT_TENANT = 1
DEFAULT_CODE = "default"
#: The greatest limit that a tenant can have.
MOST_LIMIT = 10**15


def _limit(label: Any) -> Any:
    """A column with how much the tenant may have; empty for as much as the option of the site says."""
    return models.PositiveBigIntegerField(label, null=True, blank=True, validators=[MaxValueValidator(MOST_LIMIT)])


class Tenant(models.Model):
    """Who owns biz types and API keys. A job belongs to the tenant of its biz type."""

    code = models.CharField(_("code"), max_length=100, unique=True, validators=[CODE])
    name = models.CharField(_("name"), max_length=200, blank=True)
    most_pending_jobs = _limit(_("most pending jobs"))
    most_pending_bytes = _limit(_("most bytes of pending bodies"))
    most_series = _limit(_("most series"))
    most_biz_types = _limit(_("most biz types"))
    most_api_keys = _limit(_("most API keys"))

    class Meta:
        db_table = "delayhub_tenant"
        ordering = ["code"]
        verbose_name = _("tenant")
        verbose_name_plural = _("tenants")

    def __str__(self) -> str:
        return self.name or self.code


def of_tenant(**options: Any) -> models.ForeignKey[Any, Any]:
    """A column that says whose a row is; the default tenant's where nothing is said."""
    return models.ForeignKey(
        Tenant,
        on_delete=models.PROTECT,
        default=DEFAULT_TENANT,
        db_default=DEFAULT_TENANT,
        related_name="+",
        verbose_name=_("tenant"),
        **options,
    )


def ensure_default_tenant(tenants: type[models.Model], *, using: str) -> None:
    """Makes the default tenant where it is missing: in a new database, and after ``manage.py flush``.

    Args:
        tenants: the model, as a migration or the app knows it.
        using: the database.
    """
    manager: Any = tenants._default_manager
    _row, is_new = manager.using(using).get_or_create(id=DEFAULT_TENANT, defaults={"code": DEFAULT_CODE})
    if is_new:
        # The database would give the same id to the next tenant.
        connection = connections[using]
        with connection.cursor() as cursor:
            for statement in connection.ops.sequence_reset_sql(no_style(), [tenants]):
                cursor.execute(statement)
