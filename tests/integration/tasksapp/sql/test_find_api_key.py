"""The enabled key with a prefix is found, past Django's cursor and within it."""

from __future__ import annotations

import pytest
from django.db import connection, transaction

from tasksapp.models import ApiKey
from tasksapp.sql.find_api_key import StoredKey, find_api_key

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def stored() -> StoredKey:
    """A key in the database, beside a disabled one."""
    ApiKey.objects.create(name="old", prefix="dh_87654321", hashed_key="b" * 64, enabled=False)
    row = ApiKey.objects.create(name="Käse & Co", prefix="dh_12345678", hashed_key="a" * 64)
    return StoredKey(row.pk, "Käse & Co", "a" * 64)


def test_it_is_found_by_its_prefix_in_a_transaction_and_outside(stored: StoredKey) -> None:
    assert find_api_key("dh_12345678", using="default") == stored
    with transaction.atomic():
        assert find_api_key("dh_12345678", using="default") == stored


@pytest.mark.parametrize("prefix", ["dh_87654321", "dh_1234567", "' OR '1'='1", ""])
def test_a_disabled_one_and_others_are_not(stored: StoredKey, prefix: str) -> None:
    assert find_api_key(prefix, using="default") is None


@pytest.mark.postgresql_only
def test_a_connection_that_answered_a_moment_ago_is_not_checked_first(
    stored: StoredKey, monkeypatch: pytest.MonkeyPatch
) -> None:
    checks: list[bool] = []
    find_api_key("dh_12345678", using="default")
    monkeypatch.setattr(connection, "is_usable", lambda: checks.append(True) or True)
    assert connection.health_check_enabled

    for _ in range(3):  # as three requests begin
        connection.health_check_done = False
        assert find_api_key("dh_12345678", using="default") == stored

    assert checks == []
