"""Biz types have series of their own up to a limit; those beyond it share one."""

from __future__ import annotations

from typing import Any

import pytest

from tasksapp.metrics.catalogue import OTHERS, BizTypeSeries
from tasksapp.models import BizType, Tenant
from tests.fixture_types import MakeBizType

pytestmark = pytest.mark.django_db


def test_labels_name_the_tenant_and_the_code(biz_type: BizType, make_biz_type: MakeBizType) -> None:
    acme = make_biz_type("order.remind", tenant=Tenant.objects.create(code="acme"))

    series = BizTypeSeries.read(using="default")

    assert list(series) == [("default", "order.close"), ("acme", "order.remind")]
    assert series.of(acme.pk) == ("acme", "order.remind")


def test_beyond_the_limit_the_newest_share_a_series(
    biz_type: BizType, make_biz_type: MakeBizType, settings: Any
) -> None:
    settings.DELAYHUB = {**settings.DELAYHUB, "METRICS_BIZ_TYPES": 1}
    newer = make_biz_type("a.newer")

    series = BizTypeSeries.read(using="default")

    assert list(series) == [("default", "order.close"), OTHERS]
    assert (series.of(biz_type.pk), series.of(newer.pk)) == (("default", "order.close"), OTHERS)
    assert series.named_ids == [biz_type.pk]


def test_reading_takes_one_query_however_many_there_are(
    make_biz_type: MakeBizType, django_assert_num_queries: Any
) -> None:
    for number in range(5):
        make_biz_type(f"order.{number}", tenant=Tenant.objects.create(code=f"t{number}"))

    with django_assert_num_queries(1):
        series = BizTypeSeries.read(using="default")
        assert not any(each.is_paused for each in series.every)
        assert [each.lane for each in series.every] == ["delayhub.timers"] * 5
        assert len({each.queue for each in series.every}) == 5
