"""A delayed task whose jobs are another tenant's."""

from __future__ import annotations

import pytest
from celery import Celery

from delayhub import delayed_task
from tasksapp.errors import UnknownTenant
from tasksapp.models import BizType, Job, Tenant
from tasksapp.tasks import task_of
from tasksapp.workers.biz_type_report import is_biz_type_of

pytestmark = pytest.mark.django_db(transaction=True)


@delayed_task(biz_type="shop.tidy", name="tests.shop.tidy")
def tidy() -> None:
    """Of the default tenant."""


@delayed_task(biz_type="shop.tidy", tenant="acme", name="tests.shop.tidy_theirs")
def tidy_theirs() -> None:
    """Of another one, whose biz type has the same code."""


def test_its_first_job_makes_the_tenants_biz_type(current_celery: Celery) -> None:
    Tenant.objects.create(code="acme")

    for task in (tidy, tidy_theirs):
        task.schedule()

    assert sorted(job.biz_type.label for job in Job.objects.select_related("biz_type__tenant")) == [
        "acme/shop.tidy",
        "shop.tidy",
    ]


def test_without_its_tenant_nothing_is_made(current_celery: Celery) -> None:
    with pytest.raises(UnknownTenant, match="there is no tenant 'acme'"):
        tidy_theirs.schedule()

    assert not BizType.objects.exists()


def test_a_worker_finds_it_by_the_tenants_biz_type_where_its_name_is_unknown(current_celery: Celery) -> None:
    acme = Tenant.objects.create(code="acme")
    mine, theirs = (BizType(code="shop.tidy", tenant=one, task_name="gone") for one in (Tenant.objects.get(id=1), acme))

    assert [is_biz_type_of(task, mine) for task in (tidy, tidy_theirs)] == [True, False]
    assert [is_biz_type_of(task, theirs) for task in (tidy, tidy_theirs)] == [False, True]
    assert (task_of(current_celery, mine).name, task_of(current_celery, theirs).name) == (tidy.name, tidy_theirs.name)
