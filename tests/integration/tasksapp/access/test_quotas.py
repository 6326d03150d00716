"""Quotas of tenants: what is made beyond one is refused, and says which; all else of the site goes on."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from delayhub.clock import SystemClock
from tasksapp import jobs, operations, series
from tasksapp.access.keys import issue_key
from tasksapp.access.quotas import Quota, uses_of
from tasksapp.biz_types import verbs
from tasksapp.biz_types.cache import biz_type_cache
from tasksapp.errors import KeyTaken, OneIsLive, QuotaUsedUp
from tasksapp.maintenance.counter import Counter
from tasksapp.models import BizType, Job, Series, Status, Tenant
from tasksapp.models.tenant import DEFAULT_TENANT
from tasksapp.series.maker import SeriesMaker
from tasksapp.timers.lanes import client
from tasksapp.timers.redis_clock import RedisClock
from tests.fixture_types import Fire, MakeBizType
from tests.integration.tasksapp.at_once import at_once
from tests.integration.tasksapp.operation_runs import ADA, turns, until
from tests.integration.tasksapp.receiver import Receiver
from tests.job_rows import store_job

pytestmark = pytest.mark.django_db(transaction=True)

HOUR = timedelta(hours=1)


def count() -> None:
    """What the loader does each ten seconds, and what each process reads each second."""
    counter = Counter(using="default", clock=SystemClock())
    counter.count()
    counter.count_of_tenants()
    biz_type_cache.clear()


def allow(**most: int | None) -> None:
    Tenant.objects.filter(pk=DEFAULT_TENANT).update(**{f"most_{name}": number for name, number in most.items()})


def make_series(name: str = "hourly") -> Series:
    return series.create("order.close", name=name, every=HOUR)


MAKES: dict[Quota, Callable[[int], Any]] = {
    Quota.SERIES: lambda number: make_series(f"series {number}"),
    Quota.BIZ_TYPES: lambda number: verbs.add(BizType(code=f"more.{number}")),
    Quota.API_KEYS: lambda number: issue_key(f"key {number}"),
}


@pytest.mark.parametrize("quota", MAKES)
def test_one_more_than_the_tenant_may_have_is_refused_and_not_there(biz_type: BizType, quota: Quota) -> None:
    allow(**{quota: 2})
    make, there = MAKES[quota], 1 if quota is Quota.BIZ_TYPES else 0

    for number in range(2 - there):
        make(number)
    with pytest.raises(QuotaUsedUp) as refused:
        make(9)

    error = refused.value
    assert (error.quota, error.limit, error.used, error.retry_after_seconds) == (quota, 2, 2, None)
    count()
    assert {use.quota: use.used for use in uses_of(Tenant.objects.get())}[quota] == 2


@pytest.mark.parametrize("quota", MAKES)
def test_of_two_that_are_made_at_once_the_last_place_takes_one(biz_type: BizType, quota: Quota) -> None:
    allow(**{quota: 2})
    if quota is not Quota.BIZ_TYPES:
        MAKES[quota](0)

    def attempt(number: int) -> Callable[[], bool]:
        def made() -> bool:
            try:
                MAKES[quota](number)
            except QuotaUsedUp:
                return False
            return True

        return made

    assert sorted(at_once(attempt(1), attempt(2))) == [False, True]


def test_the_site_says_how_much_where_the_tenant_does_not(biz_type: BizType, settings: Any) -> None:
    settings.DELAYHUB = {**settings.DELAYHUB, "TENANT_SERIES": 0}

    with pytest.raises(QuotaUsedUp):
        make_series()
    allow(series=1)

    assert make_series().pk


def test_a_tenant_with_as_many_pending_jobs_as_it_may_gets_no_more_and_others_do(
    biz_type: BizType, make_biz_type: MakeBizType
) -> None:
    make_biz_type("order.close", tenant=Tenant.objects.create(code="acme"))
    allow(pending_jobs=2)
    for _ in range(2):
        jobs.create("order.close", delay=60)
    jobs.create("order.close", delay=60)  # nobody has counted yet

    count()

    with pytest.raises(QuotaUsedUp, match=r"quota of pending jobs is used up: it has 3 and may have 2"):
        jobs.create("order.close", delay=60)
    assert jobs.create("order.close", delay=60, tenant="acme").created
    Job.objects.filter(biz_type=biz_type).update(status=Status.CANCELLED)
    count()
    assert jobs.create("order.close", delay=60).created


def test_bytes_of_pending_bodies_are_limited_alike(biz_type: BizType) -> None:
    allow(pending_bytes=100)
    jobs.create("order.close", delay=60, body="x" * 98)
    count()

    with pytest.raises(QuotaUsedUp) as refused:
        jobs.create("order.close", delay=60)

    assert (refused.value.quota, refused.value.used) == ("pending_bytes", 100)


def test_a_create_asks_the_database_no_more_than_without_quotas(biz_type: BizType) -> None:
    def statements() -> list[str]:
        with CaptureQueriesContext(connection) as captured:
            jobs.create("order.close", delay=60)
        return [each["sql"].partition(" ")[0] for each in captured.captured_queries]

    jobs.create("order.close", delay=60)
    before = statements()
    count()
    jobs.create("order.close", delay=60)

    assert statements() == before
    assert "SELECT" not in before


def test_who_repeats_a_request_is_told_of_its_job_however_full_the_tenant_is(biz_type: BizType) -> None:
    made = jobs.create("order.close", delay=60, idempotency_key="once")
    allow(pending_jobs=1)
    count()

    again = jobs.create("order.close", delay=60, idempotency_key="once")

    assert (again.job_id, again.created) == (made.job_id, False)
    with pytest.raises(KeyTaken):
        jobs.create("order.close", delay=61, idempotency_key="once")
    with pytest.raises(QuotaUsedUp):
        jobs.create("order.close", delay=60, idempotency_key="twice")
    assert Job.objects.count() == 1


def test_what_takes_the_place_of_a_job_that_waits_needs_none_of_its_own(
    biz_type: BizType, make_biz_type: MakeBizType
) -> None:
    make_biz_type("order.once", one_live="replace")
    make_biz_type("order.last", one_live="last")
    debounced = jobs.create("order.close", delay=60, debounce_key="d").job_id
    once, last = (jobs.create(code, delay=60, biz_id="42").job_id for code in ("order.once", "order.last"))
    allow(pending_jobs=3)
    count()

    again = jobs.create("order.close", delay=90, debounce_key="d", body=2)

    assert (again.job_id, again.replaced) == (debounced, True)
    assert jobs.create("order.once", delay=90, biz_id="42").job_id == once
    assert jobs.create("order.last", delay=90, biz_id="42").job_id == last
    Job.objects.filter(id=debounced).delete()
    for fields in ({"debounce_key": "d"}, {"debounce_key": "e"}, {"biz_id": "42"}):
        with pytest.raises(QuotaUsedUp):
            jobs.create("order.close", delay=60, **fields)


def test_where_bytes_are_used_up_no_job_gets_a_longer_body(biz_type: BizType, make_biz_type: MakeBizType) -> None:
    for one_live in ("replace", "last", "refuse"):
        make_biz_type(f"order.{one_live}", one_live=one_live)
        jobs.create(f"order.{one_live}", delay=60, biz_id="42")
    debounced = jobs.create("order.close", delay=60, debounce_key="d", body="12345678").job_id
    allow(pending_bytes=10)
    count()

    for code, fields in (
        ("order.close", {"debounce_key": "d"}),
        ("order.replace", {"biz_id": "42"}),
        ("order.last", {"biz_id": "42"}),
    ):
        with pytest.raises(QuotaUsedUp, match="pending bytes"):
            jobs.create(code, delay=90, body="x" * 1_000, **fields)
    with pytest.raises(QuotaUsedUp, match="pending bytes"):
        jobs.edit(debounced, body="123456789")
    with pytest.raises(QuotaUsedUp, match="pending bytes"):
        jobs.edit(debounced, raw=b"12345678901")

    assert jobs.edit(debounced, body="87654321", delay=70).body == '"87654321"'
    assert jobs.edit(debounced, raw=b"123456").raw == b"123456"
    with pytest.raises(OneIsLive):
        jobs.create("order.refuse", delay=90, biz_id="42", body=1)


def test_what_follows_a_job_is_made_all_the_same(make_biz_type: MakeBizType, receiver: Receiver, fire: Fire) -> None:
    make_biz_type("order.close", url=receiver.url(), on_success="order.told")
    make_biz_type("order.told")
    jobs.create("order.close")
    store_job(BizType.objects.get(code="order.told"))
    allow(pending_jobs=1)
    count()

    fire()

    assert Job.objects.filter(biz_type__code="order.told").count() == 2


def test_a_series_waits_with_its_jobs_and_goes_on_when_there_is_room(biz_type: BizType) -> None:
    store_job(biz_type)
    allow(pending_jobs=1)
    count()

    row = make_series()
    with pytest.raises(QuotaUsedUp):
        series.trigger(row.pk)
    assert not Job.objects.filter(series=row).exists()
    allow(pending_jobs=9)
    biz_type_cache.clear()
    Series.objects.update(make_at=row.created_at)
    SeriesMaker(using="default", clock=RedisClock(client)).run_once()

    assert Job.objects.filter(series=row).count() == 1


def test_a_backfill_waits_and_says_so(biz_type: BizType) -> None:
    row = make_series()
    since = row.created_at - 5 * HOUR
    planned = operations.plan_backfill(row.pk, since=since, by=ADA)
    planned = until(planned, lambda now: now.state != "planning", given=turns())
    allow(pending_jobs=0)
    count()

    operations.start(planned.pk, by=ADA)
    turns().run_once()

    planned.refresh_from_db()
    assert operations.progress(planned).sentence == "Waits: the tenant has as many pending jobs as it may."
    assert planned.done == 0
