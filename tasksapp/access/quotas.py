"""Quotas: how much each tenant may have of what all of them share.

Series, biz types and API keys are counted when one is made. Pending jobs and the bytes of their bodies are not: the
loader counts them, and creating a job compares numbers that its process has read (decision 152).
"""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

from django.db.models import F, Model, TextChoices
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from tasksapp.conf import options
from tasksapp.errors import QuotaUsedUp
from tasksapp.models import DEFAULT_TENANT, ApiKey, BizType, Series, Tenant, TenantCount

#: How soon a create that was refused may be tried again: by then the loader has counted once more.
RETRY_SECONDS = 10.0


class Quota(TextChoices):
    """What is limited: the column of its count; with ``most_`` that of its limit, with ``tenant_`` the option."""

    PENDING_JOBS = "pending_jobs", gettext_lazy("pending jobs")
    PENDING_BYTES = "pending_bytes", gettext_lazy("bytes of pending bodies")
    SERIES = "series", gettext_lazy("series")
    BIZ_TYPES = "biz_types", gettext_lazy("biz types")
    API_KEYS = "api_keys", gettext_lazy("API keys")


#: Those that are counted when one is made: their rows, and how these name their tenant.
_EXACT: dict[Quota, tuple[type[Model], str]] = {
    Quota.SERIES: (Series, "biz_type__tenant"),
    Quota.BIZ_TYPES: (BizType, "tenant"),
    Quota.API_KEYS: (ApiKey, "tenant"),
}


class Use(NamedTuple):
    """How much of a quota a tenant uses.

    Args:
        quota: which one.
        limit: how much it may have.
        used: how much it had when that was counted last; None: not counted yet.
        as_of: when that was.
    """

    quota: Quota
    limit: int
    used: int | None
    as_of: datetime | None


def limit_of(tenant: Tenant, quota: Quota) -> int:
    """How much the tenant may have: its own limit, or else that of the site."""
    own: int | None = getattr(tenant, f"most_{quota}")
    site: int = getattr(options(), f"tenant_{quota}")
    return site if own is None else own


def own_limits(tenant: Tenant) -> dict[str, int]:
    """By the name of the quota, the limits that the tenant's own row names."""
    limits: dict[str, int | None] = {quota.value: getattr(tenant, f"most_{quota}") for quota in Quota}
    return {name: limit for name, limit in limits.items() if limit is not None}


def uses_of(tenant: Tenant) -> list[Use]:
    """How much of each quota the tenant uses, as the loader counted it last; asks for that where it is not read yet."""
    counted: TenantCount | None = getattr(tenant, "counted", None)
    return [
        Use(
            quota,
            limit_of(tenant, quota),
            None if counted is None else getattr(counted, quota),
            None if counted is None else counted.counted_at,
        )
        for quota in Quota
    ]


def no_more_jobs(tenant: Tenant) -> QuotaUsedUp | None:
    """Why the tenant gets no more jobs for now; None where it gets some. That bytes are used up is said first.

    Each create asks this. The tenant has been read with its count, so that no database is asked.
    """
    counted: TenantCount | None = getattr(tenant, "counted", None)
    if counted is None:
        return None
    site, jobs, size = options(), tenant.most_pending_jobs, tenant.most_pending_bytes
    jobs = site.tenant_pending_jobs if jobs is None else jobs
    size = site.tenant_pending_bytes if size is None else size
    if counted.pending_bytes >= size:
        used = counted.pending_bytes
        return QuotaUsedUp(Quota.PENDING_BYTES, limit=size, used=used, retry_after_seconds=RETRY_SECONDS)
    if counted.pending_jobs >= jobs:
        return QuotaUsedUp(Quota.PENDING_JOBS, limit=jobs, used=counted.pending_jobs, retry_after_seconds=RETRY_SECONDS)
    return None


def refuse_more_bytes(tenant: Tenant) -> None:
    """Raises QuotaUsedUp where the tenant's bytes of pending bodies are used up."""
    full = no_more_jobs(tenant)
    if full is not None and full.quota == Quota.PENDING_BYTES:
        raise full


def take_one(quota: Quota, *, tenant_id: int | None, using: str) -> None:
    """Lets the caller's transaction make one more; others that would, for the same tenant, wait for its end.

    Raises QuotaUsedUp.
    """
    # A write in the place of a lock, so that SQLite has its own before the count.
    Tenant.objects.using(using).filter(pk=tenant_id or DEFAULT_TENANT).update(name=F("name"))
    tenant = Tenant.objects.using(using).filter(pk=tenant_id or DEFAULT_TENANT).first()
    if tenant is None:
        return  # its foreign key refuses the row
    model, path = _EXACT[quota]
    limit = limit_of(tenant, quota)
    used = model._default_manager.using(using).filter(**{path: tenant}).order_by().count()
    if used >= limit:
        raise QuotaUsedUp(quota, limit=limit, used=used)


def refusal_words(full: QuotaUsedUp) -> str:
    """The refusal for people, in their language."""
    return _("The tenant's quota is used up: %(what)s, %(used)s of %(limit)s.") % {
        "what": Quota(full.quota).label,
        "used": f"{full.used:,}",
        "limit": f"{full.limit:,}",
    }
