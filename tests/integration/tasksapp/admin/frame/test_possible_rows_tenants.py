"""Pages speak of tenants once there are two."""

from __future__ import annotations

import pytest

from tasksapp.admin.frame.possible_rows import has_tenants
from tasksapp.models import Tenant


@pytest.mark.django_db
def test_the_default_tenant_is_not_worth_a_word() -> None:
    alone = has_tenants()
    Tenant.objects.create(code="acme")

    assert (alone, has_tenants()) == (False, True)
