"""A biz type's code is its tenant's own; what it has in Redis keeps one name, whatever its code becomes."""

from __future__ import annotations

import pytest
from django.db import IntegrityError

from tasksapp.models import BizType, Tenant
from tests.fixture_types import MakeBizType


@pytest.fixture
def acme(db: None) -> Tenant:
    return Tenant.objects.create(code="acme")


@pytest.mark.django_db
def test_a_code_is_there_once_in_a_tenant(biz_type: BizType, acme: Tenant) -> None:
    BizType.objects.create(code=biz_type.code, tenant=acme)

    with pytest.raises(IntegrityError):
        BizType.objects.create(code=biz_type.code, tenant=acme)


@pytest.mark.django_db
def test_people_know_it_by_its_code_and_that_of_another_tenant(biz_type: BizType, acme: Tenant) -> None:
    assert biz_type.label == "order.close"
    assert str(BizType(code="order.close", tenant=acme)) == "acme/order.close"


@pytest.mark.django_db
def test_its_queue_has_its_code(biz_type: BizType) -> None:
    assert biz_type.queue == biz_type.queue_name == "order.close"


@pytest.mark.django_db
@pytest.mark.parametrize("fields", [None, ["code"]])
def test_its_queue_keeps_its_name_when_the_code_changes(fields: list[str] | None) -> None:
    biz_type = BizType.objects.create(code="old")

    biz_type.code = "new"
    biz_type.save(update_fields=fields)

    assert BizType.objects.get(code="new").queue == "old"


@pytest.mark.django_db
def test_no_two_share_a_queue(acme: Tenant, make_biz_type: MakeBizType) -> None:
    renamed = make_biz_type("order.close")
    renamed.code = "order.shut"
    renamed.save()

    made = [make_biz_type("order.close"), make_biz_type("order.close", tenant=acme), make_biz_type("a", tenant=acme)]

    queues = {one.queue for one in (renamed, *made)}
    assert len(queues) == 4
    assert all(one.queue.startswith(f"{one.code}~") for one in made)
