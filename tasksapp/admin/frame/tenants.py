"""Whether pages speak of tenants: as soon as there is more than the default one."""

from __future__ import annotations

from tasksapp.models import Tenant


def has_tenants() -> bool:
    """Whether there are several tenants."""
    return len(Tenant.objects.values_list("pk")[:2]) > 1
