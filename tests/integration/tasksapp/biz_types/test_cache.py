"""Biz types for the hot paths: read once, and again after a second or an edit; a rollback leaves nothing behind."""

from __future__ import annotations

import os
from typing import Any

import pytest
from django.core.management import call_command
from django.core.management.sql import emit_post_migrate_signal
from django.db import transaction
from django.utils import timezone

from delayhub.testing import MovableClock
from tasksapp.biz_types.cache import FRESH_SECONDS, LONGEST_TRANSACTION, BizTypeCache, biz_type_cache
from tasksapp.errors import UnknownTenant
from tasksapp.models import BizType, Tenant
from tasksapp.sql.biz_type_revision import read_biz_types
from tests.fixture_types import MakeBizType

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def clock() -> MovableClock:
    return MovableClock()


@pytest.fixture
def cache(clock: MovableClock) -> BizTypeCache:
    return BizTypeCache(clock)


def names(found: dict[str, BizType]) -> dict[str, str]:
    return {code: biz_type.name for code, biz_type in found.items()}


def test_codes_that_exist_are_found(cache: BizTypeCache, biz_type: BizType, make_biz_type: MakeBizType) -> None:
    make_biz_type("other")

    assert set(cache.find({"order.close", "other", "nobody"}, using="default")) == {"order.close", "other"}


def test_a_biz_type_is_read_once_a_second(
    cache: BizTypeCache, clock: MovableClock, biz_type: BizType, django_assert_num_queries: Any
) -> None:
    with django_assert_num_queries(1):
        for _ in range(3):
            cache.find({"order.close"}, using="default")
    clock.advance(seconds=FRESH_SECONDS + 0.1)

    with django_assert_num_queries(1):
        cache.find({"order.close"}, using="default")


def test_only_what_is_missing_is_read(
    cache: BizTypeCache, biz_type: BizType, make_biz_type: MakeBizType, django_assert_num_queries: Any
) -> None:
    make_biz_type("other")
    first = cache.find({"order.close"}, using="default")["order.close"]

    with django_assert_num_queries(1):
        found = cache.find({"order.close", "other"}, using="default")

    assert found["order.close"] is first


def test_a_code_that_does_not_exist_is_asked_for_each_time(cache: BizTypeCache, make_biz_type: MakeBizType) -> None:
    assert cache.find({"order.close"}, using="default") == {}
    make_biz_type("order.close")

    assert set(cache.find({"order.close"}, using="default")) == {"order.close"}


def test_an_edit_by_another_process_is_seen_after_a_second(
    cache: BizTypeCache, clock: MovableClock, biz_type: BizType
) -> None:
    cache.find({"order.close"}, using="default")
    BizType.objects.update(name="edited")  # no signal comes from elsewhere

    assert names(cache.find({"order.close"}, using="default")) == {"order.close": ""}
    clock.advance(seconds=FRESH_SECONDS + 0.1)
    assert names(cache.find({"order.close"}, using="default")) == {"order.close": "edited"}


def test_an_edit_by_this_process_is_seen_at_once(biz_type: BizType) -> None:
    biz_type_cache.find({"order.close"}, using="default")
    biz_type.name = "edited"
    biz_type.save()

    assert names(biz_type_cache.find({"order.close"}, using="default")) == {"order.close": "edited"}


def test_a_deleted_one_is_gone_at_once(biz_type: BizType) -> None:
    biz_type_cache.find({"order.close"}, using="default")
    biz_type.delete()

    assert biz_type_cache.find({"order.close"}, using="default") == {}


def test_what_a_transaction_made_is_not_kept_for_others(cache: BizTypeCache, db: None) -> None:
    with transaction.atomic():
        BizType.objects.create(code="order.close")
        assert set(cache.find({"order.close"}, using="default")) == {"order.close"}
        transaction.set_rollback(True)

    assert cache.find({"order.close"}, using="default") == {}


def test_what_is_older_than_any_transaction_is_kept_in_one_too(
    cache: BizTypeCache, biz_type: BizType, django_assert_num_queries: Any
) -> None:
    BizType.objects.update(created_at=timezone.now() - 2 * LONGEST_TRANSACTION)
    with transaction.atomic():
        cache.find({"order.close"}, using="default")

        with django_assert_num_queries(0):
            cache.find({"order.close"}, using="default")


def test_a_job_gets_its_biz_type_as_it_was_at_the_claim_or_later(
    cache: BizTypeCache, biz_type: BizType, django_assert_num_queries: Any
) -> None:
    before = read_biz_types({biz_type.id}, using="default")[biz_type.id].revision
    first = cache.as_of(biz_type.id, revision=before, using="default")
    with django_assert_num_queries(0):
        assert cache.as_of(biz_type.id, revision=before, using="default") is first
    BizType.objects.update(name="edited")  # no signal, and no new updated_at
    after = read_biz_types({biz_type.id}, using="default")[biz_type.id].revision

    assert cache.as_of(biz_type.id, revision=after, using="default").name == "edited"


def test_of_several_only_those_that_changed_are_read_and_all_at_once(
    cache: BizTypeCache, biz_type: BizType, make_biz_type: MakeBizType, django_assert_num_queries: Any
) -> None:
    others = [make_biz_type(code) for code in ("other", "deleted")]
    ids = sorted([biz_type.id, *(other.id for other in others)])

    def revisions() -> dict[int, int | None]:
        read = read_biz_types(ids, using="default")
        return {key: read[key].revision for key in ids}

    before = revisions()
    cache.all_as_of(before, using="default")
    with django_assert_num_queries(0):
        assert [each.id for each in cache.all_as_of(before, using="default")] == ids
    BizType.objects.filter(id__in=ids[:2]).update(name="edited")  # no signal
    after = revisions()
    others[1].delete()

    with django_assert_num_queries(1):
        found = cache.all_as_of({**after, 0: 1}, using="default")

    assert [each.name for each in found[:2]] == ["edited", "edited"]
    with django_assert_num_queries(1):
        assert [each.id for each in cache.all_as_of(dict.fromkeys(ids), using="default")] == ids[:2]


def test_a_deleted_biz_type_has_no_edit(cache: BizTypeCache, biz_type: BizType) -> None:
    deleted = biz_type.id
    biz_type.delete()

    with pytest.raises(BizType.DoesNotExist):
        cache.as_of(deleted, revision=1, using="default")


def test_a_forked_child_reads_by_itself_though_its_parent_held_the_lock(biz_type: BizType) -> None:
    biz_type_cache.find({"order.close"}, using="default")
    with biz_type_cache._lock:
        child = os.fork()
        if not child:
            os._exit(0 if biz_type_cache._lock.acquire(timeout=5) and not biz_type_cache._by_code else 1)

    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_a_flush_empties_it(biz_type: BizType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("django.core.management.commands.flush.emit_post_migrate_signal", emit_post_migrate_signal)
    biz_type_cache.find({"order.close"}, using="default")

    call_command("flush", interactive=False, verbosity=0)

    assert biz_type_cache.find({"order.close"}, using="default") == {}


def test_a_tenant_and_its_biz_types_are_read_once_a_second(
    cache: BizTypeCache, clock: MovableClock, biz_type: BizType, django_assert_num_queries: Any
) -> None:
    acme = Tenant.objects.create(code="acme")
    theirs = BizType.objects.create(code=biz_type.code, tenant=acme)

    for _ in range(2):
        with django_assert_num_queries(2):
            found = [
                cache.find({biz_type.code}, tenant_id=cache.tenant_id("acme", using="default"), using="default")
                for _ in range(3)
            ]
        clock.advance(seconds=FRESH_SECONDS + 0.1)

    assert found == [{biz_type.code: theirs}] * 3
    assert cache.find({biz_type.code}, using="default") == {biz_type.code: biz_type}


def test_a_tenant_that_a_transaction_made_is_not_kept_for_others(cache: BizTypeCache, db: None) -> None:
    with pytest.raises(UnknownTenant), transaction.atomic():
        acme = Tenant.objects.create(code="acme")
        assert cache.tenant_id("acme", using="default") == acme.pk
        acme.delete()
        cache.tenant_id("acme", using="default")


def test_a_renamed_tenant_is_found_by_its_new_code_only(db: None) -> None:
    acme = Tenant.objects.create(code="acme")
    biz_type_cache.tenant_id("acme", using="default")
    acme.code = "acme-ltd"
    acme.save()

    assert biz_type_cache.tenant_id("acme-ltd", using="default") == acme.pk
    with pytest.raises(UnknownTenant):
        biz_type_cache.tenant_id("acme", using="default")
