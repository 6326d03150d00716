"""The first page of a biz type: what a person sees of it, at few statements."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import Permission
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from tasksapp.access.actors import Actor
from tasksapp.biz_types import verbs
from tasksapp.biz_types.cache import biz_type_cache
from tasksapp.jobs.creation import create
from tasksapp.models import BizType, Job, JobCount, Pulse, Upcoming
from tasksapp.stats.pulses import floor

pytestmark = pytest.mark.django_db


@pytest.fixture
def watcher(client: Client, admin_user: Any) -> Client:
    """A superuser's browser, with a Redis that answers."""
    client.force_login(admin_user)
    return client


def change_page(biz_type: BizType) -> str:
    return reverse("admin:tasksapp_biztype_change", args=[biz_type.pk])


def test_it_shows_flow_numbers_and_what_the_biz_type_does(watcher: Client, biz_type: BizType) -> None:
    BizType.objects.update(delivery_rate=500, name="Close unpaid orders")
    now = timezone.now()
    JobCount.objects.create(
        biz_type=biz_type, pending=349_120, due_now=12_300, running=7, dead=44_667, counted_at=now,
        oldest_due_at=now - timedelta(seconds=41), next_due_at=now,
    )  # fmt: skip

    text = watcher.get(change_page(biz_type)).content.decode()

    for shown in (
        "flowing", "349,120", "12,300", "44,667", " s ago", "Close unpaid orders", "shop.example",
        "gives up after 16 attempts", "500 jobs per second", "Callbacks of this biz type are not signed",
    ):  # fmt: skip
        assert shown in text, shown


@pytest.mark.parametrize(
    ("succeeded", "paused", "said"),
    [(500, False, "Clears in about"), (0, False, "Not clearing"), (500, True, None)],
)
def test_it_says_in_how_long_the_backlog_clears_unless_the_biz_type_is_paused(
    watcher: Client, biz_type: BizType, succeeded: int, paused: bool, said: str | None
) -> None:
    now = timezone.now()
    JobCount.objects.create(biz_type=biz_type, pending=900, due_now=900, running=0, dead=0, counted_at=now)
    if succeeded:
        at = floor(now - timedelta(minutes=2), 60)
        Pulse.objects.create(biz_type=biz_type, at=at, span_seconds=60, kind="succeeded", count=succeeded)
    if paused:
        verbs.pause(biz_type, by=Actor("ada"), reason="")

    text = watcher.get(change_page(biz_type)).content.decode()

    assert said in text if said else "learing" not in text


def test_it_says_which_jobs_are_not_encrypted_yet(watcher: Client, biz_type: BizType) -> None:
    assert "At rest" not in watcher.get(change_page(biz_type)).content.decode()
    create("order.close", delay=60)
    BizType.objects.update(encrypted=True)
    biz_type_cache.clear()
    create("order.close", delay=60)

    assert "1 jobs from before are not" in watcher.get(change_page(biz_type)).content.decode()
    Job.objects.filter(request="").delete()
    assert "<dt>At rest</dt><dd>encrypted</dd>" in watcher.get(change_page(biz_type)).content.decode()


def test_it_says_who_changed_it_and_why(watcher: Client, biz_type: BizType) -> None:
    verbs.pause(biz_type, by=Actor("ada"), reason="db <move>")

    text = watcher.get(change_page(biz_type)).content.decode()

    assert "paused by ada" in text
    assert "<strong>ada</strong>: pause <q>db &lt;move&gt;</q>" in text


def test_it_draws_the_last_and_the_next_day(watcher: Client, biz_type: BizType) -> None:
    assert "No attempt in the last 24 hours" in watcher.get(change_page(biz_type)).content.decode()
    now = timezone.now().replace(second=0, microsecond=0)
    Pulse.objects.create(biz_type=biz_type, at=now - timedelta(minutes=2), span_seconds=60, kind="succeeded", count=29)
    ahead = now + timedelta(hours=3)
    Upcoming.objects.create(biz_type=biz_type, at=ahead, span_seconds=300, jobs=200_000, counted_at=now)

    text = watcher.get(change_page(biz_type)).content.decode()

    assert "Attempts of the last 24 hours" in text
    assert "Jobs due in the next 24 hours" in text
    assert "200,000" in text


def test_it_takes_twelve_statements_at_most(watcher: Client, biz_type: BizType) -> None:
    now = timezone.now()
    JobCount.objects.create(
        biz_type=biz_type,
        pending=9,
        due_now=9,
        running=0,
        dead=0,
        counted_at=now,
        oldest_due_at=now,
    )
    watcher.get(change_page(biz_type))

    with CaptureQueriesContext(connection) as queries:
        watcher.get(change_page(biz_type))

    assert len(queries) - 2 <= 12, [query["sql"][:150] for query in queries]
    assert not any('FROM "delayhub_job"' in query["sql"] for query in queries)


def test_its_part_is_had_by_itself(watcher: Client, biz_type: BizType) -> None:
    part = watcher.get(change_page(biz_type), {"fragment": "1"})

    assert "Delayhub-As-Of" in part.headers
    assert "flowing" in part.content.decode()
    assert "<html" not in part.content.decode()


def test_without_redis_nothing_is_said_to_flow(person: Client, biz_type: BizType) -> None:
    text = person.get(change_page(biz_type)).content.decode()

    assert "Redis does not answer: jobs go out from the database" in text
    assert ">flowing<" not in text

    BizType.objects.update(delivery_rate=5.0)
    assert "Redis does not answer: no job goes out" in person.get(change_page(biz_type)).content.decode()


def test_a_viewer_sees_the_page_without_what_they_may_not_do(
    client: Client, django_user_model: Any, biz_type: BizType
) -> None:
    viewer = django_user_model.objects.create_user("viewer", password="x", is_staff=True)
    viewer.user_permissions.add(Permission.objects.get(codename="view_biztype"))
    client.force_login(viewer)

    text = client.get(change_page(biz_type)).content.decode()

    assert "flowing" in text
    for name in ("pause", "test", "secrets", "delete"):
        assert reverse(f"admin:tasksapp_biztype_{name}", args=[biz_type.pk]) not in text
    assert "copy_of" not in text


def test_who_may_not_view_biz_types_sees_none(client: Client, django_user_model: Any, biz_type: BizType) -> None:
    stranger = django_user_model.objects.create_user("eve", password="x", is_staff=True)
    stranger.user_permissions.add(Permission.objects.get(codename="pause_biztype"))
    client.force_login(stranger)

    for name in ("change", "pause", "secrets", "test"):
        page = reverse(f"admin:tasksapp_biztype_{name}", args=[biz_type.pk])
        assert client.get(page).status_code == 403, name


def test_an_unknown_biz_type_leads_back_and_an_unknown_tab_to_the_first_page(person: Client, biz_type: BizType) -> None:
    assert person.get(reverse("admin:tasksapp_biztype_change", args=[999])).status_code == 302
    assert "What it does" in person.get(change_page(biz_type), {"tab": "\0../x"}).content.decode()
