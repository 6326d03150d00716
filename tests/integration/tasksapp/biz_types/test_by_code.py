"""Biz types made by the project's own code: as REST makes them, and signed unless they say otherwise."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from standardwebhooks import Webhook

from delayhub.webhooks.signature import BadSecret, new_secret
from tasksapp import biz_types, jobs
from tasksapp.access.actors import Actor
from tasksapp.biz_types import editing
from tasksapp.errors import CodeTaken, InvalidBizType, QuotaUsedUp, TenantMoving, UnknownBizType, UnknownTenant
from tasksapp.models import AuditEntry, BizType, Tenant
from tasksapp.models.tenant import DEFAULT_TENANT
from tests.fixture_types import Fire
from tests.integration.tasksapp.receiver import Receiver

pytestmark = pytest.mark.django_db(transaction=True)

URL = "https://shop.example/hooks"


@pytest.mark.usefixtures("ends_delivery")
def test_callbacks_are_signed_with_the_secret_that_it_gives_back(receiver: Receiver, fire: Fire) -> None:
    made = biz_types.create("order.paid", url=receiver.url())
    jobs.create("order.paid", body={"order": 42})

    fire()

    (request,) = receiver.received
    assert made.signing_secret is not None
    assert Webhook(made.signing_secret).verify(request.body, request.headers) == {"order": 42}


def test_a_secret_of_your_own_is_taken_and_a_bad_one_makes_nothing() -> None:
    secret = new_secret()

    made = biz_types.create("order.paid", url=URL, signing_secret=secret)

    assert (made.signing_secret, made.biz_type.signing_secret) == (secret, secret)
    with pytest.raises(BadSecret):
        biz_types.create("other", url=URL, signing_secret="short")
    assert BizType.objects.count() == 1


def test_it_is_unsigned_only_where_it_says_so() -> None:
    assert biz_types.create("one", url=URL, signed=False).signing_secret is None
    assert biz_types.create("two", target="pull").signing_secret is None
    assert biz_types.create("three", url=URL).signing_secret
    assert [row.code for row in BizType.objects.all() if row.is_unsigned] == ["one"]
    with pytest.raises(ValueError, match="signed"):
        biz_types.create("four", url=URL, signed=False, signing_secret=new_secret())


#: Of each kind of column that a definition has.
DEFINITION: dict[str, Any] = {
    "name": "Order paid", "url": URL, "headers": {"X-Shop": "1"}, "max_attempts": 3, "retention_seconds": 86_400,
    "jitter": 0.5, "delivery_rate": 5.0, "one_live": "refuse", "on_dead": "order.dead", "masked_fields": ["/card"],
    "auth": "bearer", "auth_secret": "token",
}  # fmt: skip


def test_it_makes_the_row_that_rest_makes() -> None:
    given = {**DEFINITION, "code": "by.rest"}
    secret = given.pop("auth_secret")
    by_rest = editing.create(given, tenant_id=DEFAULT_TENANT, using="default", auth_secret=secret, by=Actor("ada"))

    made = biz_types.create("by.code", by=Actor("ada"), **DEFINITION)

    own = {"id", "code", "queue_name", "created_at", "updated_at", "auth_secret_sealed", "signing_secret_sealed"}
    columns = [field.attname for field in BizType._meta.concrete_fields if field.name not in own]
    rows = [BizType.objects.values(*columns).get(pk=one.biz_type.pk) for one in (by_rest, made)]
    assert rows[0] == rows[1]
    assert made.biz_type.auth_secret == "token"
    entries = AuditEntry.objects.order_by("id").values_list("biz_type_id", "verb", "actor")
    assert [entry[1:] for entry in entries if entry[0] == by_rest.biz_type.pk] == [
        entry[1:] for entry in entries if entry[0] == made.biz_type.pk
    ]


def test_choices_and_lengths_of_time_are_taken_as_python_has_them() -> None:
    made = biz_types.create("report.build", target=BizType.Target.PULL, retention_seconds=timedelta(days=2))

    assert (made.biz_type.target, made.biz_type.retention) == ("pull", timedelta(days=2))


@pytest.mark.parametrize(
    ("fields", "fault"),
    [({"url": "ftp://x"}, "url"), ({"max_attempts": 0, "url": URL}, "max_attempts"), ({"no_such": 1}, "no_such"),
     ({"target": "celery", "task_name": "os.system"}, "task_name")],
)  # fmt: skip
def test_what_rest_refuses_is_refused(fields: dict[str, Any], fault: str) -> None:
    with pytest.raises(InvalidBizType) as refused:
        biz_types.create("order.paid", **fields)

    assert fault in [one.field for one in refused.value.faults]
    assert not BizType.objects.exists()


def test_codes_quotas_and_tenants_count() -> None:
    acme = Tenant.objects.create(code="acme", most_biz_types=1)

    made = biz_types.create("order.paid", tenant="acme", url=URL)

    assert made.biz_type.tenant == acme
    assert biz_types.find("order.paid", tenant="acme") == made.biz_type
    with pytest.raises(QuotaUsedUp):
        biz_types.create("another", tenant="acme", url=URL)
    with pytest.raises(UnknownTenant):
        biz_types.create("another", tenant="nowhere", url=URL)
    with pytest.raises(UnknownBizType):
        biz_types.find("order.paid")
    biz_types.create("order.paid", url=URL)
    with pytest.raises(CodeTaken):
        biz_types.create("order.paid", url=URL)


def test_a_change_is_checked_as_over_rest_and_keeps_the_rest() -> None:
    made = biz_types.create("order.paid", url=URL, max_attempts=3)
    before = made.biz_type.revision

    changed = biz_types.change("order.paid", max_attempts=5, by=Actor("ada"))

    assert (changed.max_attempts, changed.url, changed.is_unsigned) == (5, URL, False)
    assert changed.revision > before
    assert AuditEntry.objects.filter(actor="ada", biz_type_id=changed.pk).count() == 1
    with pytest.raises(InvalidBizType):
        biz_types.change("order.paid", max_attempts=0)
    BizType.objects.update(moved_to="https://elsewhere.example")
    with pytest.raises(TenantMoving):
        biz_types.change("order.paid", max_attempts=6)
