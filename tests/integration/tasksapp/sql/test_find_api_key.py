"""The enabled key with a prefix is found, past Django's cursor and within it."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db import connection, transaction
from django.utils import timezone

from tasksapp.models import ApiKey
from tasksapp.sql.find_api_key import StoredKey, find_api_keys

pytestmark = pytest.mark.django_db(transaction=True)

MINUTE = timedelta(minutes=1)


def found(prefix: str) -> list[StoredKey]:
    return find_api_keys(prefix, using="default")


@pytest.fixture
def stored() -> StoredKey:
    """A key in the database that has replaced another, beside a disabled one."""
    now = timezone.now()
    ApiKey.objects.create(name="old", prefix="dh_87654321", hashed_key="b" * 64, enabled=False)
    row = ApiKey.objects.create(
        name="Käse & Co", prefix="dh_12345678", hashed_key="a" * 64, scopes=["stats"], biz_type_ids=[3], version=7,
        previous_prefix="dh_before", previous_hashed_key="c" * 64, previous_until=now + MINUTE, expires_at=now + MINUTE,
    )  # fmt: skip
    return StoredKey(row.pk, "Käse & Co", "a" * 64, 1, '["stats"]', "[3]", 7)


def test_it_is_found_by_its_prefix_in_a_transaction_and_outside(stored: StoredKey) -> None:
    assert found("dh_12345678") == [stored]
    with transaction.atomic():
        assert found("dh_12345678") == [stored]


@pytest.mark.parametrize("prefix", ["dh_87654321", "dh_1234567", "' OR '1'='1", ""])
def test_a_disabled_one_and_others_are_not(stored: StoredKey, prefix: str) -> None:
    assert found(prefix) == []


def test_by_the_prefix_of_a_replaced_key_its_hash_is_found_until_the_overlap_ends(stored: StoredKey) -> None:
    assert found("dh_before") == [stored._replace(hashed_key="c" * 64)]

    ApiKey.objects.update(previous_until=timezone.now() - MINUTE)

    assert found("dh_before") == []
    assert found("dh_12345678") == [stored]


def test_an_expired_one_is_found_by_neither_prefix(stored: StoredKey) -> None:
    ApiKey.objects.update(expires_at=timezone.now() - timedelta(milliseconds=1))

    assert found("dh_12345678") == []
    assert found("dh_before") == []


@pytest.mark.postgresql_only
def test_a_connection_that_answered_a_moment_ago_is_not_checked_first(
    stored: StoredKey, monkeypatch: pytest.MonkeyPatch
) -> None:
    checks: list[bool] = []
    found("dh_12345678")
    monkeypatch.setattr(connection, "is_usable", lambda: checks.append(True) or True)
    assert connection.health_check_enabled

    for _ in range(3):  # as three requests begin
        connection.health_check_done = False
        assert found("dh_12345678") == [stored]

    assert checks == []
