"""What a biz type may be beside the rows that there are."""

from __future__ import annotations

import pytest

from tasksapp import series
from tasksapp.biz_types.validation import complaints
from tasksapp.models import BizType

pytestmark = pytest.mark.django_db


def test_one_live_job_of_a_biz_id_is_not_chosen_where_series_have_a_biz_id(biz_type: BizType) -> None:
    row = series.create("order.close", name="nightly", cron="0 0 * * *", biz_id="42")
    series.create("order.close", name="a", cron="0 0 * * *")
    biz_type.one_live = BizType.OneLive.REFUSE

    assert "series nightly have a biz id" in complaints(biz_type)["one_live"]
    # whoever has chosen it before may store other fields
    BizType.objects.update(one_live="replace")
    assert "one_live" not in complaints(biz_type)
    BizType.objects.update(one_live="any")
    series.change(row.pk, biz_id="")
    assert "one_live" not in complaints(biz_type)
