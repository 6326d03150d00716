"""The page of the system: what it shows, to whom, and what of it is left when servers are away.

So the sections of workers and of the database are tested too: workers_section, database_section.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
import redis
from django.contrib.auth.models import Permission, User
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from delayhub.engine import TimerLane
from tasksapp.admin.system_admin import shown
from tasksapp.queues.heartbeats import Beat, write_beat
from tasksapp.queues.system.section import Unit
from tests.redis_time import redis_now_ms

pytestmark = pytest.mark.django_db
PAGE = "admin:tasksapp_system_changelist"


def words(client: Client, **query: str) -> str:
    answer = client.get(reverse(PAGE), query)
    assert answer.status_code == 200
    return " ".join(re.sub(r"<[^>]+>", " ", answer.content.decode()).split())


def document(client: Client, **query: str) -> Any:
    return json.loads(client.get(reverse(PAGE), {"format": "json", **query}).content)


def test_every_section_is_there(lane: TimerLane, admin_client: Client) -> None:
    page = words(admin_client)

    for title in ("Workers", "Loader", "Timer lanes", "Timers and rows", "Redis", "Database", "Purge", "Versions"):
        assert title in page
    assert "No worker has written a heartbeat" in page
    assert "No loader has the seat" in page
    assert "NEAR_WINDOW_SECONDS 3,600 yes" in page


def test_a_worker_is_shown_with_what_it_runs(admin_client: Client, redis_client: redis.Redis) -> None:
    now_ms = redis_now_ms(redis_client)
    beat = Beat(
        name="a:1:t", host="a", pid=7, node="w@a", version="1", pool="threads", concurrency=4, queues=["celery"],
        tasks=[("id-1", "shop.close", now_ms)], running_count=1, open_callbacks=12, seen_ms=now_ms, is_loader=True,
        purged_ms=now_ms, purged_jobs=1234,
    )  # fmt: skip
    write_beat(redis_client, beat)

    page, [worker] = words(admin_client), document(admin_client)["workers"]["rows"]

    assert "w@a loader a:7 · threads x 4 · 1 celery 1 shop.close id-1 12" in page
    assert (worker["name"], worker["open_callbacks"], worker["is_loader"]) == ("w@a", 12, True)
    assert document(admin_client)["purge"]["purged_jobs"] == 1234


def test_while_redis_is_away_the_other_sections_are_shown_and_it_takes_no_second_try(
    admin_client: Client, settings: Any
) -> None:
    settings.DELAYHUB = {"REDIS_URL": "redis://127.0.0.1:1/0"}

    found = document(admin_client, check="1")

    for key in ("workers", "loader", "lanes", "timers", "redis", "purge"):
        assert found[key]["faults"] == ["Redis does not answer (ConnectionError)."]
    assert found["database"]["faults"] == found["settings"]["faults"] == []
    assert found["database"]["version"]


def test_no_password_and_no_key_is_shown(admin_client: Client, settings: Any) -> None:
    settings.DELAYHUB = {
        "REDIS_URL": "redis://user:the-password@127.0.0.1:1/0",
        "ENCRYPTION_KEYS": ["Zm9vYmFyYmF6cXV4MTIzNDU2Nzg5MGFiY2RlZmdoaWo="],
    }

    for query in ({}, {"format": "json"}):
        page = admin_client.get(reverse(PAGE), query).content.decode()
        assert "the-password" not in page
        assert "Zm9vYm" not in page
        assert "127.0.0.1:1/0" in page
        assert "1, not shown" in page


def test_it_takes_the_permission(admin_client: Client) -> None:
    person = User.objects.create_user("eve", is_staff=True)
    client = Client()
    client.force_login(person)
    assert client.get(reverse(PAGE)).status_code == 403
    assert client.get(reverse(PAGE), {"format": "json"}).status_code == 403

    person.user_permissions.add(Permission.objects.get(codename="view_system"))

    assert client.get(reverse(PAGE)).status_code == 200
    assert reverse("admin:tasksapp_system_changelist") in client.get(reverse("admin:index")).content.decode()


def test_the_part_that_refreshes_is_had_by_itself(lane: TimerLane, admin_client: Client) -> None:
    answer = admin_client.get(reverse(PAGE), {"fragment": "1"})

    assert "<html" not in answer.content.decode()
    assert answer["Delayhub-As-Of"]


def test_it_needs_few_queries(
    lane: TimerLane, admin_client: Client, django_assert_max_num_queries: Callable[..., Any]
) -> None:
    with django_assert_max_num_queries(2 + 6):
        words(admin_client)


@pytest.mark.parametrize(
    ("key", "value", "unit", "text"),
    [
        ("x", None, Unit.PLAIN, "-"),
        ("x", 12345, Unit.PLAIN, "12,345"),
        ("x", 0.25, Unit.PLAIN, "0.25"),
        ("x", 5 * 1024 * 1024, Unit.BYTES, "5.0\xa0MB"),
        ("x", "no limit", Unit.BYTES, "no limit"),
        ("x", 41, Unit.SECONDS, "41 s"),
        ("x", True, Unit.PLAIN, "yes"),
        ("is_default", False, Unit.PLAIN, "changed"),
        ("x", ["<b>", "c"], Unit.PLAIN, "&lt;b&gt;c"),
    ],
)
def test_values_are_shown_in_words(key: str, value: Any, unit: Unit, text: str) -> None:
    assert re.sub(r"<[^>]+>", "", shown(key, value, unit, now=timezone.now())) == text


def test_times_are_shown_with_their_distance() -> None:
    now = timezone.now()

    assert "5 s ago" in shown("x", now - timedelta(seconds=5), Unit.PLAIN, now=now)
