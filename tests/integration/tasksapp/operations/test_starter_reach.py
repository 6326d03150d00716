"""Which callers see an operation, whose jobs it is for, and when its key has lost them."""

from __future__ import annotations

import pytest

from tasksapp import operations
from tasksapp.access.callers import Caller
from tasksapp.biz_types.visible import Reach
from tasksapp.jobs.job_filter import JobFilter
from tasksapp.models import ApiKey, BizType, Operation, Tenant
from tasksapp.operations.starter import biz_types_of, lost_biz_types, may_see_operation, visible_operations
from tests.fixture_types import MakeBizType
from tests.integration.tasksapp.operation_runs import ADA

pytestmark = pytest.mark.django_db


@pytest.fixture
def other(make_biz_type: MakeBizType) -> BizType:
    """Another biz type of the default tenant."""
    return make_biz_type("other")


@pytest.fixture
def acme(db: None) -> Tenant:
    return Tenant.objects.create(code="acme")


def plan(reach: Reach | None, biz_type: str = "") -> Operation:
    return operations.plan("redrive", JobFilter(biz_type=biz_type), by=ADA, seen_by=reach)


def seen(reach: Reach) -> list[Operation]:
    listed = list(visible_operations(reach, rows=Operation.objects.order_by("id")))
    # One at a time it is the same question.
    assert listed == [one for one in Operation.objects.order_by("id") if may_see_operation(reach, one)]
    return listed


def test_a_tenants_key_sees_the_operations_of_its_tenant(biz_type: BizType, acme: Tenant) -> None:
    ours, theirs = plan(Reach()), plan(Reach(acme.pk))

    assert seen(Reach()) == [ours]
    assert seen(Reach(acme.pk)) == [theirs]


def test_a_key_of_some_biz_types_sees_those_for_one_of_them_and_its_own(biz_type: BizType, other: BizType) -> None:
    limited = Reach(biz_type_ids=frozenset({biz_type.pk}))
    plan(Reach())
    of_one, own = plan(Reach(), biz_type.code), plan(limited)
    plan(Reach(), other.code)

    assert seen(limited) == [of_one, own]


def test_what_a_person_plans_for_all_tenants_no_key_sees(biz_type: BizType, acme: Tenant) -> None:
    everywhere, of_one = plan(None), plan(None, biz_type.code)

    assert everywhere.tenant_id is None
    assert seen(Reach()) == [of_one]
    assert seen(Reach(acme.pk)) == []


def test_what_a_person_plans_while_there_is_one_tenant_its_keys_see(biz_type: BizType) -> None:
    planned = plan(None)
    Tenant.objects.create(code="later")

    assert seen(Reach()) == [planned]


def test_it_is_for_the_biz_types_that_its_planner_saw(biz_type: BizType, other: BizType, acme: Tenant) -> None:
    theirs = BizType.objects.create(code="theirs", tenant=acme)

    def found(reach: Reach | None) -> set[BizType]:
        return set(biz_types_of(plan(reach), using="default"))

    assert found(None) == {biz_type, other, theirs}
    assert found(Reach()) == {biz_type, other}
    assert found(Reach(biz_type_ids=frozenset({other.pk, theirs.pk}))) == {other}


def test_a_key_loses_an_operation_with_the_biz_types_that_it_is_for(
    biz_type: BizType, other: BizType, acme: Tenant
) -> None:
    every, limited = plan(Reach()), plan(Reach(biz_type_ids=frozenset({biz_type.pk})))

    def loses(operation: Operation, *ids: int) -> bool:
        return lost_biz_types(operation, ApiKey(biz_type_ids=list(ids)))

    assert [loses(every), loses(every, biz_type.pk, other.pk)] == [False, True]
    assert [loses(limited), loses(limited, biz_type.pk, other.pk), loses(limited, other.pk)] == [False, False, True]
    assert loses(plan(Reach(), other.code), other.pk) is False
    assert lost_biz_types(every, ApiKey(tenant=acme))


def test_a_caller_of_no_biz_type_sees_no_operation_and_plans_none_for_others(biz_type: BizType) -> None:
    nobody = Caller("berlin", None, biz_type_ids=frozenset())
    every = plan(Reach())

    own = operations.plan("redrive", JobFilter(), by=ADA, seen_by=nobody)

    assert not biz_types_of(own, using="default").exists()
    assert not may_see_operation(nobody, every)
    assert every not in visible_operations(nobody, rows=Operation.objects.all())
