"""A biz type with jobs is not deleted, and the page says so at once."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from tasksapp import series
from tasksapp.models import BizType, IdempotencyKey, Job, Status
from tests.fixture_types import MakeBizType
from tests.job_rows import job_row, store_job

pytestmark = pytest.mark.django_db


def test_a_biz_type_with_jobs_is_kept_and_its_jobs_are_not_read(
    person: Client, biz_type: BizType, django_assert_max_num_queries: Any
) -> None:
    Job.objects.bulk_create(job_row(biz_type, status) for status in [Status.PENDING, *[Status.SUCCEEDED] * 300])
    url = reverse("admin:tasksapp_biztype_delete", args=[biz_type.pk])

    with django_assert_max_num_queries(20) as queries:
        pages = [person.get(url).content.decode(), person.post(url, {"post": "yes"}).content.decode()]

    for page in pages:
        assert "order.close has 301 jobs. Cancel the 1 that are pending or running" in page
        assert "purge_jobs --biz-type order.close" in page
        assert "Yes, I" not in page
    assert not any('"body"' in query["sql"] for query in queries.captured_queries)
    assert BizType.objects.exists()


def test_none_of_several_is_deleted_where_one_has_jobs(
    person: Client, biz_type: BizType, make_biz_type: MakeBizType
) -> None:
    other = make_biz_type("order.remind")
    store_job(biz_type, Status.DEAD)
    chosen = {"action": "delete_selected", "_selected_action": [biz_type.pk, other.pk], "post": "yes"}

    page = person.post(reverse("admin:tasksapp_biztype_changelist"), chosen).content.decode()

    assert "order.close has 1 job. None of them will fire" in page
    assert "order.remind has" not in page
    assert BizType.objects.count() == 2


@pytest.mark.parametrize("way", ["page", "list"])
def test_a_biz_type_whose_series_has_no_jobs_is_kept_too(person: Client, biz_type: BizType, way: str) -> None:
    series.pause(series.create("order.close", name="nightly", cron="0 2 * * *").pk)
    url = reverse("admin:tasksapp_biztype_delete", args=[biz_type.pk])
    given = {"post": "yes"}
    if way == "list":
        url = reverse("admin:tasksapp_biztype_changelist")
        given |= {"action": "delete_selected", "_selected_action": str(biz_type.pk)}

    page = person.post(url, given).content.decode()

    assert not Job.objects.exists()
    assert "order.close has series, such as nightly: delete them first" in page
    assert BizType.objects.exists()


def test_a_biz_type_without_jobs_is_deleted(person: Client, biz_type: BizType, make_biz_type: MakeBizType) -> None:
    other = make_biz_type("order.remind")
    IdempotencyKey.objects.create(
        biz_type=biz_type, key="k", request_hash="", job_id=uuid4(), expires_at=timezone.now()
    )
    url = reverse("admin:tasksapp_biztype_delete", args=[biz_type.pk])
    assert "Are you sure" in person.get(url).content.decode()

    person.post(url, {"post": "yes"})
    person.post(
        reverse("admin:tasksapp_biztype_changelist"),
        {"action": "delete_selected", "_selected_action": [other.pk], "post": "yes"},
    )

    assert not BizType.objects.exists()
    assert not IdempotencyKey.objects.exists()
