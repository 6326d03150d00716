"""Python code creates and finds jobs of the tenant that it names, and of the default one without a name."""

from __future__ import annotations

from typing import Any

import pytest

from tasksapp import jobs
from tasksapp.errors import JobNotFound, UnknownBizType, UnknownTenant
from tasksapp.jobs.business_key import named
from tasksapp.models import BizType, Job, Tenant
from tests.fixture_types import MakeBizType

pytestmark = pytest.mark.django_db


@pytest.fixture
def theirs(biz_type: BizType, make_biz_type: MakeBizType) -> BizType:
    """Another tenant's biz type, of the same code."""
    return make_biz_type(biz_type.code, tenant=Tenant.objects.create(code="acme"))


def test_a_code_is_that_of_the_named_tenant(biz_type: BizType, theirs: BizType) -> None:
    mine, other = jobs.create("order.close", biz_id="1"), jobs.create("order.close", biz_id="1", tenant="acme")

    assert (mine.job.biz_type_id, other.job.biz_type_id) == (biz_type.pk, theirs.pk)
    assert jobs.find_live("order.close", "1").id == mine.job_id
    assert jobs.find_live("order.close", "1", tenant="acme").id == other.job_id
    assert list(named("order.close", "1", tenant="acme").values_list("id", flat=True)) == [other.job_id]


def test_keys_are_the_tenants_own(biz_type: BizType, theirs: BizType) -> None:
    made = [
        jobs.create("order.close", tenant=tenant, delay=60, **key)
        for key in ({"idempotency_key": "once"}, {"debounce_key": "quiet"})
        for tenant in (None, "acme", None, "acme")
    ]

    assert [one.created for one in made] == [True, True, False, False] * 2
    assert Job.objects.count() == 4


def test_a_biz_type_that_only_another_tenant_has_is_unknown(theirs: BizType, make_biz_type: MakeBizType) -> None:
    make_biz_type("ours")

    with pytest.raises(UnknownBizType, match="there is no biz type 'ours'"):
        jobs.create("ours", tenant="acme")
    with pytest.raises(JobNotFound):
        jobs.find_live("ours", "1", tenant="acme")


@pytest.mark.parametrize("wrong", ["acne", "", "a\0b", "Acme", 7])
def test_a_tenant_that_does_not_exist_is_named_in_the_error(theirs: BizType, wrong: Any) -> None:
    with pytest.raises(UnknownTenant) as caught:
        jobs.create("order.close", tenant=wrong)

    assert (caught.value.field, str(caught.value)) == ("tenant", f"there is no tenant {wrong!r}")
