"""The list of biz types: states in words, numbers from the loader, and few questions however many there are."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from delayhub.clock import due_ms
from delayhub.engine import TimerLane
from tasksapp.models import BizType, JobCount
from tests.fixture_types import MakeBizType

pytestmark = pytest.mark.django_db

LIST = "admin:tasksapp_biztype_changelist"


def count(biz_type: BizType, **numbers: int) -> None:
    values = {"pending": 0, "due_now": 0, "running": 0, "dead": 0, **numbers}
    JobCount.objects.create(biz_type=biz_type, counted_at=timezone.now(), **values)


def test_numbers_are_those_of_the_loader_and_lead_to_the_jobs(person: Client, biz_type: BizType) -> None:
    count(biz_type, pending=349_120, due_now=12_300, dead=44_667)

    text = person.get(reverse(LIST)).content.decode()

    for shown, tab in (("349,120", "pending"), ("12,300", "due"), ("44,667", "dead")):
        assert f"?tab={tab}&amp;biz_type=order.close" in text
        assert f">{shown}</a>" in text


def test_the_state_is_in_words(person: Client, make_biz_type: MakeBizType) -> None:
    until = timezone.now() + timedelta(days=2)
    make_biz_type("a", paused_until=until, paused_by="ada", pause_reason="db move")
    make_biz_type("b", enabled=False)
    make_biz_type("c", url="https://shop.example/hooks", target="http")
    make_biz_type("d", target="celery", task_name="shop.close", url="")

    text = person.get(reverse(LIST)).content.decode()

    for shown in ("paused by ada until", "db move", "disabled", "flowing", "shop.example", "shop.close", "unsigned"):
        assert shown in text
    assert ">open<" not in text


def test_a_receiver_that_is_down_is_said_to_be(
    client: Client, biz_type: BizType, lane: TimerLane, admin_user: object
) -> None:
    client.force_login(admin_user)  # type: ignore[arg-type]  # a user
    at = due_ms(timezone.now() + timedelta(seconds=30))
    lane.client.set(lane.keys.queue("order.close").breaker, f"open:{at}:shop.example")

    assert "receiver down, retry in" in client.get(reverse(LIST)).content.decode()


def test_200_biz_types_take_twelve_statements_at_most(person: Client) -> None:
    rows = BizType.objects.bulk_create(BizType(code=f"type.{n:03}", url="https://shop.example/") for n in range(200))
    for row in rows:
        count(row, pending=1)
    person.get(reverse(LIST))

    with CaptureQueriesContext(
        connection,
    ) as queries:
        text = person.get(reverse(LIST)).content.decode()

    beyond_session_and_user = len(queries) - 2
    assert beyond_session_and_user <= 12, [query["sql"][:120] for query in queries]
    assert not any('FROM "delayhub_job"' in query["sql"] for query in queries)
    assert "type.099" in text
