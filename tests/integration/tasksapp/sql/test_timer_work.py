"""What a turn of the loader finds to do, by one statement."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from uuid import UUID

import pytest
from django.db import connection
from django.utils import timezone

from tasksapp.jobs.creation import JobRequest, create_many
from tasksapp.models import BizType, Operation, PausedKey, Series, Status
from tasksapp.series.verbs import create as create_series
from tasksapp.sql.timer_work import TimerWork, timer_work
from tests.fixture_types import MakeBizType
from tests.job_rows import store_job

pytestmark = pytest.mark.django_db(transaction=True)
_KEPT = "FROM pg_prepared_statements WHERE statement LIKE '%%delayhub_paused_key%%'"
MINUTE, HOUR = timedelta(minutes=1), timedelta(hours=1)


def work(*, now: datetime | None = None, after: datetime | None = None, until: datetime | None = None) -> TimerWork:
    now = now or timezone.now()
    return timer_work(now=now, after=after, until=until or now + MINUTE, overdue_since=now, using="default")


def test_it_says_which_biz_types_have_rows_that_enter_or_are_overdue(
    biz_type: BizType, make_biz_type: MakeBizType
) -> None:
    entering, overdue, idle, far = biz_type, *(make_biz_type(code) for code in ("overdue", "idle", "far"))
    now = timezone.now()
    store_job(entering, due_in=MINUTE)
    store_job(overdue, due_in=-MINUTE)
    store_job(idle, Status.DEAD, due_in=-MINUTE)
    store_job(far, due_in=HOUR)

    found = work(now=now, after=now, until=now + 2 * MINUTE)

    assert found.revisions.keys() == {entering.id, overdue.id, idle.id, far.id}
    assert found.entering == {entering.id}
    assert found.overdue == {overdue.id}


def test_without_a_lower_end_overdue_rows_enter_too(biz_type: BizType) -> None:
    store_job(biz_type, due_in=-MINUTE)
    now = timezone.now()

    assert work(now=now, until=now).entering == {biz_type.id}
    assert work(now=now, after=now).entering == frozenset()


def test_where_nothing_is_to_be_done_it_says_so(biz_type: BizType) -> None:
    now = timezone.now()
    create_series("order.close", name="hourly", every=HOUR)
    store_job(biz_type, Status.RUNNING, lease_until=now + HOUR)
    PausedKey.objects.create(biz_type=biz_type, flow_key="shop-1", until=now - HOUR, paused_at=now - 2 * HOUR)
    Operation.objects.create(verb="cancel", job_filter={}, state=Operation.State.DONE)

    found = work()

    assert found[-5:] == (False,) * 5


def test_it_says_what_else_is_to_be_done(biz_type: BizType) -> None:
    now = timezone.now()
    create_series("order.close", name="hourly", every=HOUR)

    Series.objects.update(make_at=now - MINUTE)
    assert work().series
    BizType.objects.update(enabled=False)
    assert not work().series

    Series.objects.update(live_job=UUID(int=1))
    assert work().live_jobs

    store_job(biz_type, Status.RUNNING, lease_until=now - MINUTE)
    assert work().lost

    PausedKey.objects.create(biz_type=biz_type, flow_key="shop-1", until=now + HOUR, paused_at=now)
    assert work().paused_keys

    Operation.objects.create(verb="cancel", job_filter={}, state=Operation.State.PLANNED)
    assert work().operations


def test_without_biz_types_there_is_nothing_to_do() -> None:
    found = work()

    assert found[1:] == ({}, frozenset(), frozenset(), *[False] * 5)


@pytest.mark.postgresql_only  # SQLite keeps no plans
def test_a_plan_for_an_empty_table_is_not_kept_once_it_is_slow(
    biz_type: BizType, monkeypatch: pytest.MonkeyPatch
) -> None:
    connection.close()  # the next one has lost no plan to a test before this one
    with connection.cursor() as cursor:
        cursor.execute("TRUNCATE delayhub_job")  # with the pages that other tests have filled
        cursor.execute("ANALYZE")
        assert kept_plans() == 0
        for _ in range(10):
            work()
        assert kept_plans() == 1

        create_many([JobRequest(biz_type="order.close", delay=86_400) for _ in range(2_000)])
        with monkeypatch.context() as slow:
            slow.setattr("tasksapp.sql.timer_work._TIMER_WORK._kept._slow_seconds", -1.0)
            work()
        assert kept_plans() == 0
        for _ in range(10):
            work()

        assert kept_plans() == 1
        cursor.execute(f"SELECT name {_KEPT} AND generic_plans > 0")
        ((name,),) = cursor.fetchall()
        now = timezone.now().isoformat()
        cursor.execute(f"EXPLAIN (FORMAT JSON) EXECUTE {name} (%s, %s, %s, %s)", [now] * 4)
        ((plan,),) = cursor.fetchall()
    plan = json.dumps(plan)
    assert "delayhub_job_pending" in plan
    assert "delayhub_job_running" in plan


def kept_plans() -> int:
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT count(*) {_KEPT}")
        return int(cursor.fetchone()[0])
