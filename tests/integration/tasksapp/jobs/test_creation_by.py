"""Who creates a job stands in its row, whichever statement writes it."""

from __future__ import annotations

from datetime import timedelta

import pytest

from tasksapp.access.actors import Actor
from tasksapp.jobs.creation import Created, JobRequest, create, create_many
from tasksapp.models import AuditEntry, BizType, Job
from tasksapp.sql.insert_jobs import COPY_ROWS

pytestmark = pytest.mark.django_db(transaction=True)

SHOP = Actor("api:shop")


@pytest.mark.parametrize("count", [1, 3, COPY_ROWS + 1])
def test_all_jobs_of_a_request_name_who_created_them(biz_type: BizType, count: int) -> None:
    requests = [JobRequest(biz_type="order.close", delay=60) for _ in range(count)]

    made = create_many(requests, by=SHOP)

    assert list(Job.objects.values_list("created_by", flat=True)) == ["api:shop"] * count
    assert [outcome.job.created_by for outcome in made if isinstance(outcome, Created)] == ["api:shop"] * count
    assert not AuditEntry.objects.exists()


def test_the_projects_own_code_is_not_named(biz_type: BizType) -> None:
    made = create("order.close")

    assert Job.objects.get(id=made.job_id).created_by == ""


def test_a_job_that_is_replaced_keeps_who_created_it_first(biz_type: BizType) -> None:
    first = create("order.close", debounce_key="cart-7", delay=timedelta(minutes=5), by=SHOP)

    again = create("order.close", debounce_key="cart-7", delay=timedelta(minutes=9), by=Actor("api:other"))

    assert again.replaced
    assert Job.objects.get(id=first.job_id).created_by == "api:shop"
