"""What tenants have is counted by one statement: exactly, but for the bytes of many bodies."""

from __future__ import annotations

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from delayhub.clock import SystemClock
from tasksapp.access.keys import issue_key
from tasksapp.maintenance.counter import Counter
from tasksapp.models import BizType, Job, Status, Tenant, TenantCount
from tasksapp.sql import count_of_tenants as module
from tasksapp.sql.count_of_tenants import count_of_tenants
from tests.fixture_types import MakeBizType
from tests.job_rows import job_row, store_job

pytestmark = pytest.mark.django_db(transaction=True)


def counted(tenant_id: int) -> tuple[int, ...]:
    Counter(using="default", clock=SystemClock()).count()
    count_of_tenants(now=timezone.now(), using="default", timeout_seconds=30)
    row = TenantCount.objects.get(tenant=tenant_id)
    return row.pending_jobs, row.pending_bytes, row.series, row.biz_types, row.api_keys


def test_each_tenant_has_its_own_and_only_pending_jobs_count(biz_type: BizType, make_biz_type: MakeBizType) -> None:
    acme = Tenant.objects.create(code="acme")
    theirs = make_biz_type("order.close", tenant=acme)
    issue_key("shop", tenant=acme)
    for status in (Status.PENDING, Status.RUNNING, Status.SUCCEEDED, Status.DEAD):
        store_job(biz_type, status, body='"12345678"')
    store_job(theirs, body='"é"')  # bytes, not characters
    store_job(theirs, body="null", raw=b"\x00" * 100)

    assert counted(biz_type.tenant_id) == (1, 10, 0, 1, 0)
    assert counted(acme.pk) == (2, 4 + 4 + 100, 0, 1, 1)


def test_the_bytes_of_many_bodies_are_estimated(biz_type: BizType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "SAMPLE", 500)
    rows = [job_row(biz_type, body=f'"{"x" * (998 if number % 2 else 98)}"') for number in range(4_000)]
    Job.objects.bulk_create(rows, batch_size=500)

    found = counted(biz_type.tenant_id)

    # 500 of 4 000, half of 100 and half of 1 000 bytes: the standard error is 5 in 100.
    assert found[0] == 4_000
    assert found[1] == pytest.approx(4_000 * 550, rel=0.25)


def test_nobody_waits_to_write_while_jobs_are_looked_at(biz_type: BizType) -> None:
    with CaptureQueriesContext(connection) as captured:
        counted(biz_type.tenant_id)

    (looks,) = [
        one["sql"] for one in captured.captured_queries if "delayhub_job j" in one["sql"] and "chance" in one["sql"]
    ]
    assert "INSERT" not in looks


def test_a_tenant_that_has_nothing_any_more_is_counted_too(biz_type: BizType) -> None:
    job = store_job(biz_type)
    first = counted(biz_type.tenant_id)
    job.delete()
    biz_type.delete()

    assert (first[0], counted(biz_type.tenant_id)) == (1, (0, 0, 0, 0, 0))
