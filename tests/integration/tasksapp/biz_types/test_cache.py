"""The cache of biz types: how old what it gives may be."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from tasksapp.biz_types.cache import FRESH_SECONDS, BizTypeCache
from tasksapp.models import BizType
from tests.standing_clock import StandingClock

pytestmark = pytest.mark.django_db(transaction=True)


def test_an_edit_of_another_process_is_seen_after_a_second(biz_type: BizType, django_assert_num_queries: Any) -> None:
    clock = StandingClock()
    cache = BizTypeCache(clock)
    cache.find({"order.close"}, using="default")
    BizType.objects.update(name="Orders")  # without the signals that an edit of this process sends

    with django_assert_num_queries(0):
        assert cache.find({"order.close"}, using="default")["order.close"].name == ""
    clock.seconds += FRESH_SECONDS
    assert cache.find({"order.close"}, using="default")["order.close"].name == "Orders"


def test_what_does_not_exist_is_looked_up_each_time(biz_type: BizType) -> None:
    cache = BizTypeCache()

    assert cache.find({"order.close", "later"}, using="default").keys() == {"order.close"}
    BizType.objects.create(code="later", url="https://shop.example/hooks")
    assert cache.find({"order.close", "later"}, using="default").keys() == {"order.close", "later"}


def test_a_later_edit_is_read_and_an_earlier_one_is_known(biz_type: BizType, django_assert_num_queries: Any) -> None:
    cache = BizTypeCache()
    cache.as_of(biz_type.id, edited_at=biz_type.updated_at, using="default")
    later = timezone.now() + timedelta(seconds=1)
    BizType.objects.update(name="Orders", updated_at=later)

    with django_assert_num_queries(0):
        assert cache.as_of(biz_type.id, edited_at=biz_type.updated_at, using="default").name == ""
    assert cache.as_of(biz_type.id, edited_at=later, using="default").name == "Orders"


def test_a_deleted_biz_type_is_an_error(biz_type: BizType) -> None:
    biz_type_id, edited_at = biz_type.id, biz_type.updated_at
    biz_type.delete()

    with pytest.raises(BizType.DoesNotExist):
        BizTypeCache().as_of(biz_type_id, edited_at=edited_at, using="default")
