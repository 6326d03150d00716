"""Idempotency keys: the first request that brings one gets it, however many try at the same moment."""

from __future__ import annotations

import random
from datetime import datetime, timedelta
from uuid import UUID

import pytest
from django.utils import timezone

from tasksapp.models import BizType, IdempotencyKey
from tasksapp.sql.claim_keys import KeyClaim, KeyHolder, claim_keys, repoint_key
from tests.fixture_types import MakeBizType
from tests.integration.tasksapp.at_once import at_once

pytestmark = pytest.mark.django_db(transaction=True)

HOUR = timedelta(hours=1)


def claim(biz_type: BizType, key: str, job: int, *, request: str = "r", now: datetime | None = None) -> KeyHolder:
    """Who holds the key, after a request for that job claimed it for an hour."""
    now = now or timezone.now()
    wanted = KeyClaim(biz_type.id, key, request, UUID(int=job))
    return claim_keys([wanted], now=now, expires_at=now + HOUR, using="default")[biz_type.id, key]


def test_a_new_key_is_the_claimers(biz_type: BizType) -> None:
    assert claim(biz_type, "k", 1) == KeyHolder("r", UUID(int=1))


def test_a_key_that_is_held_stays_with_its_holder(biz_type: BizType) -> None:
    claim(biz_type, "k", 1, request="first")

    assert claim(biz_type, "k", 2, request="second") == KeyHolder("first", UUID(int=1))


def test_a_key_that_expired_is_taken_over(biz_type: BizType) -> None:
    now = timezone.now()
    claim(biz_type, "k", 1, now=now)

    assert claim(biz_type, "k", 2, now=now + HOUR) == KeyHolder("r", UUID(int=2))
    assert IdempotencyKey.objects.count() == 1


def test_a_key_belongs_to_its_biz_type(biz_type: BizType, make_biz_type: MakeBizType) -> None:
    other = make_biz_type("other")

    assert claim(biz_type, "k", 1).job_id == UUID(int=1)
    assert claim(other, "k", 2).job_id == UUID(int=2)


def test_many_keys_are_claimed_at_once_and_each_is_answered(biz_type: BizType, make_biz_type: MakeBizType) -> None:
    other, now = make_biz_type("other"), timezone.now()
    claim(biz_type, "key-7", 1_000)
    wanted = [
        KeyClaim(kind.id, f"key-{number}", "r", UUID(int=number)) for number in range(150) for kind in (biz_type, other)
    ]

    holders = claim_keys(wanted, now=now, expires_at=now + HOUR, using="default")

    assert len(holders) == 300
    assert holders.pop((biz_type.id, "key-7")).job_id == UUID(int=1_000)
    assert all(holder.job_id == UUID(int=int(key[4:])) for (_, key), holder in holders.items())


def test_of_many_requests_for_the_same_keys_at_once_one_gets_each(biz_type: BizType) -> None:
    now = timezone.now()

    def claim_all(seed: int) -> dict[tuple[int, str], KeyHolder]:
        wanted = [KeyClaim(biz_type.id, f"key-{number}", "r", UUID(int=seed)) for number in range(120)]
        random.Random(seed).shuffle(wanted)
        return claim_keys(wanted, now=now, expires_at=now + HOUR, using="default")

    first, second, third = at_once(*(lambda seed=seed: claim_all(seed) for seed in (1, 2, 3)))

    assert first == second == third


def test_a_key_can_stand_for_the_job_that_its_request_replaced(biz_type: BizType) -> None:
    claim(biz_type, "k", 1)

    repoint_key(biz_type.id, "k", UUID(int=2), using="default")

    assert claim(biz_type, "k", 3).job_id == UUID(int=2)
