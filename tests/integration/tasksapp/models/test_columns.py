"""A row counts its changes, whoever makes them and however."""

from __future__ import annotations

import pytest

from tasksapp.models import BizType

pytestmark = pytest.mark.django_db


def test_every_update_is_counted_wherever_it_is_made(biz_type: BizType) -> None:
    def revision() -> int:
        return BizType.objects.values_list("revision", flat=True).get(pk=biz_type.pk)

    two = BizType.objects.get(pk=biz_type.pk), BizType.objects.get(pk=biz_type.pk)
    for each in two:
        each.save(update_fields=["weight"])
    assert revision() == 3
    BizType.objects.filter(pk=biz_type.pk).update(weight=3)
    assert revision() == 4
    two[0].weight = 5
    BizType.objects.bulk_update(two[:1], ["weight"])
    assert revision() == 5
