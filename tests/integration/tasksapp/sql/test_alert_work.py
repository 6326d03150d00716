"""What a turn of watching finds to judge, by one statement."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.db import connection
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from tasksapp.models import Alert, AlertKind, AlertMessage, BizType, JobCount, Pulse
from tasksapp.sql.alert_work import AlertWork, alert_work
from tests.fixture_types import MakeBizType

pytestmark = pytest.mark.django_db(transaction=True)
_KEPT = "FROM pg_prepared_statements WHERE statement LIKE '%%delayhub_alert_message%%'"
MINUTE, HOUR = timedelta(minutes=1), timedelta(hours=1)


@pytest.fixture
def now() -> datetime:
    return timezone.now()


def work(now: datetime) -> AlertWork:
    return alert_work(
        now=now, counted_since=now - MINUTE, overdue_before=now - MINUTE, died_since=now - HOUR, using="default"
    )


def count(biz_type: BizType, *, counted_at: datetime, **columns: Any) -> None:
    JobCount.objects.update_or_create(
        biz_type=biz_type,
        defaults={"pending": 1, "due_now": 0, "running": 0, "dead": 0, "counted_at": counted_at, **columns},
    )


def died(biz_type: BizType, *, at: datetime, span_seconds: int = 60) -> None:
    Pulse.objects.create(biz_type=biz_type, at=at, span_seconds=span_seconds, kind=Pulse.Kind.DEAD, count=1)


def wait_to_be_sent(*, next_at: datetime | None) -> None:
    AlertMessage.objects.create(
        channel="mail", address="a@shop.example", subject="", text="", created_at=timezone.now(), next_at=next_at
    )


def test_it_knows_all_biz_types(biz_type: BizType, make_biz_type: MakeBizType, now: datetime) -> None:
    other = make_biz_type("other")

    assert work(now).revisions.keys() == {biz_type.id, other.id}


def test_where_nothing_is_wrong_it_says_so(biz_type: BizType, now: datetime) -> None:
    count(biz_type, counted_at=now - HOUR, due_now=3, oldest_due_at=now - HOUR)
    died(biz_type, at=now - 2 * HOUR)
    died(biz_type, at=now, span_seconds=600)
    Alert.objects.create(kind=AlertKind.DEAD, began_at=now - HOUR, ended_at=now, sentence="")
    wait_to_be_sent(next_at=now + HOUR)
    wait_to_be_sent(next_at=None)

    assert work(now)[1:] == (False,) * 5


def test_it_says_what_there_is_to_judge(biz_type: BizType, now: datetime) -> None:
    count(biz_type, counted_at=now, due_now=1, oldest_due_at=now)
    assert work(now)[1:] == (True, False, False, False, False)

    count(biz_type, counted_at=now, due_now=1, oldest_due_at=now - 2 * MINUTE)
    assert work(now).overdue
    count(biz_type, counted_at=now, due_now=0, oldest_due_at=now - 2 * MINUTE)
    assert not work(now).overdue

    died(biz_type, at=now - MINUTE)
    assert work(now).died

    Alert.objects.create(kind=AlertKind.DEAD, began_at=now, sentence="")
    assert work(now).has_open

    wait_to_be_sent(next_at=now)
    assert work(now).has_messages


def test_messages_are_found_without_biz_types(now: datetime) -> None:
    wait_to_be_sent(next_at=now)

    assert work(now) == ({}, False, False, False, False, True)


def test_it_is_one_statement(
    biz_type: BizType, now: datetime, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    connection.close()  # the next one prepares nothing yet
    connection.ensure_connection()

    with django_assert_num_queries(1):
        work(now)


@pytest.mark.postgresql_only  # SQLite keeps no plans
def test_its_plan_is_kept_and_passes_by_all_pulses_that_are_no_deaths(biz_type: BizType, now: datetime) -> None:
    connection.close()
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO delayhub_pulse (biz_type_id, at, span_seconds, kind, key, count)"
            " SELECT %s, now() - n * interval '1 second', 60, 'lateness', '', 1 FROM generate_series(1, 20000) n",
            [biz_type.id],
        )
        cursor.execute("ANALYZE delayhub_pulse")
        for _ in range(10):
            work(now)

        cursor.execute(f"SELECT name {_KEPT} AND generic_plans > 0")
        ((name,),) = cursor.fetchall()
        cursor.execute(f"EXPLAIN (FORMAT JSON) EXECUTE {name} (%s, %s, %s, %s)", [now.isoformat()] * 4)
        ((plan,),) = cursor.fetchall()
    plan = json.dumps(plan)
    assert "delayhub_pulse_dead" in plan
    assert "delayhub_pulse_of_stretch" not in plan
