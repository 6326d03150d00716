"""The admin as a whole: every page opens, and the first one counts jobs."""

from __future__ import annotations

import pytest
from django.test import Client
from django.urls import reverse

from tasksapp.access.keys import issue_key
from tasksapp.models import ApiKey, BizType, Job, Status
from tests.job_rows import store_job

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("name", ["biztype", "job", "apikey"])
def test_every_page_opens(person: Client, biz_type: BizType, name: str) -> None:
    store_job(biz_type)
    issue_key("caller")
    model = {"biztype": BizType, "job": Job, "apikey": ApiKey}[name]

    assert person.get(reverse(f"admin:tasksapp_{name}_changelist")).status_code == 200
    (row,) = model.objects.all()  # type: ignore[attr-defined]  # the three have nothing in common
    assert person.get(reverse(f"admin:tasksapp_{name}_change", args=[row.pk])).status_code == 200


def test_the_index_counts_jobs_by_biz_type(person: Client, biz_type: BizType) -> None:
    store_job(biz_type)
    store_job(biz_type, Status.DEAD)

    page = person.get(reverse("admin:index")).content.decode()

    assert "Jobs by biz type" in page
    assert "order.close" in page
    assert f"biz_type__id__exact={biz_type.pk}&amp;status__exact=dead" in page
