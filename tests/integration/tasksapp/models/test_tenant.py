"""The default tenant is there whenever it is needed."""

from __future__ import annotations

import pytest
from django.core.exceptions import ValidationError
from django.core.management import call_command
from django.core.management.sql import emit_post_migrate_signal
from django.db import IntegrityError

from tasksapp.models import DEFAULT_TENANT, Alert, ApiKey, BizType, Tenant


@pytest.mark.django_db
def test_everything_belongs_to_the_default_tenant_where_no_other_is_named() -> None:
    biz_type = BizType.objects.create(code="order.close")
    key = ApiKey.objects.create(name="shop", prefix="dh_12345678", hashed_key="x")

    assert biz_type.tenant_id == key.tenant_id == DEFAULT_TENANT
    assert biz_type.tenant.code == "default"


@pytest.mark.django_db(transaction=True)
def test_a_flushed_database_has_its_default_tenant_and_room_for_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("django.core.management.commands.flush.emit_post_migrate_signal", emit_post_migrate_signal)
    Tenant.objects.create(code="acme")

    call_command("flush", interactive=False, verbosity=0)

    assert [(row.id, row.code) for row in Tenant.objects.all()] == [(DEFAULT_TENANT, "default")]
    assert Tenant.objects.create(code="acme").id != DEFAULT_TENANT


@pytest.mark.django_db
def test_a_code_has_no_capitals_and_no_spaces() -> None:
    with pytest.raises(ValidationError, match="begin with a letter or digit"):
        Tenant(code="My shop").full_clean()


@pytest.mark.django_db
def test_an_alert_is_open_once() -> None:
    alert = {"kind": "overdue", "sentence": "12 jobs are overdue.", "began_at": "2026-01-01T00:00:00Z"}
    Alert.objects.create(**alert, ended_at="2026-01-01T00:05:00Z")
    Alert.objects.create(**alert)

    with pytest.raises(IntegrityError):
        Alert.objects.create(**alert)
