"""What a caller sees of biz types and jobs: those of its tenant, or those that its key names."""

from __future__ import annotations

from typing import Any

import pytest

from tasksapp import jobs
from tasksapp.biz_types.visible import Reach, biz_type_of, may_see, visible_biz_types, visible_jobs
from tasksapp.errors import UnknownBizType
from tasksapp.models import BizType, Tenant
from tests.fixture_types import MakeBizType

pytestmark = pytest.mark.django_db


@pytest.fixture
def other(make_biz_type: MakeBizType) -> BizType:
    """A biz type of another tenant."""
    return make_biz_type("parcel.lost", tenant=Tenant.objects.create(code="acme"))


def test_one_that_says_nothing_of_tenants_sees_all_of_the_default_one(biz_type: BizType, other: BizType) -> None:
    user = object()

    assert list(visible_biz_types(user)) == [biz_type]
    assert (may_see(user, biz_type), may_see(user, other)) == (True, False)


def test_a_caller_of_another_tenant_sees_that_one_only(biz_type: BizType, other: BizType) -> None:
    caller = Reach(other.tenant_id)

    assert list(visible_biz_types(caller)) == [other]
    assert (may_see(caller, biz_type), may_see(caller, other)) == (False, True)


def test_a_key_of_some_biz_types_sees_those_and_their_jobs(biz_type: BizType, make_biz_type: MakeBizType) -> None:
    seen = make_biz_type("seen")
    hidden, shown = jobs.create("order.close", delay=60), jobs.create("seen", delay=60)
    caller = Reach(biz_type_ids=frozenset({seen.pk}))

    assert list(visible_biz_types(caller)) == [seen]
    assert [job.id for job in visible_jobs(caller)] == [shown.job_id] != [hidden.job_id]


def test_a_key_that_names_another_tenants_biz_type_does_not_see_it(biz_type: BizType, other: BizType) -> None:
    caller = Reach(biz_type_ids=frozenset({other.pk}))

    assert not visible_biz_types(caller).exists()
    with pytest.raises(UnknownBizType):
        biz_type_of(caller, other.code)


def test_a_code_means_the_callers_own_biz_type(biz_type: BizType, other: BizType) -> None:
    assert biz_type_of(Reach(), "order.close") == biz_type
    assert biz_type_of(Reach(other.tenant_id), "parcel.lost") == other


@pytest.mark.parametrize("code", ["order.close", "no.such", "", "a\0b", "\ud800", None, 7, ["order.close"]])
def test_a_code_that_the_caller_does_not_know_is_refused(biz_type: BizType, other: BizType, code: Any) -> None:
    with pytest.raises(UnknownBizType, match="there is no biz type"):
        biz_type_of(Reach(other.tenant_id), code)
