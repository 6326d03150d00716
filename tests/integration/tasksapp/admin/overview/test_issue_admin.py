"""The page of issues: dead jobs, grouped."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.contrib.auth.models import Permission
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from tasksapp.models import BizType, DeadCount, Job
from tests.admin_scene import store_scene

pytestmark = pytest.mark.django_db

PAGE = "/admin/tasksapp/deadcount/"


def store_issues(count: int) -> None:
    now = timezone.now()
    made = BizType.objects.bulk_create(
        [BizType(code=f"kind-{number:03}", url="https://shop.example") for number in range(count)]
    )
    DeadCount.objects.bulk_create(
        DeadCount(biz_type=each, error_class="timeout", dead=44_667, first_at=now, last_at=now, counted_at=now)
        for each in BizType.objects.filter(code__in=[one.code for one in made])
    )


def test_each_kind_of_error_is_a_row_with_its_buttons_and_the_last_answer(person: Client) -> None:
    scene = store_scene()
    Job.objects.filter(status="dead").exclude(pk=scene.dead.pk).delete()

    page = person.get(PAGE).content.decode()

    assert "44,667 dead jobs of 3 kinds" in page
    assert "HTTP 503" in page
    assert "upstream connect error" in page
    assert "POST https://shop.example/hooks/close" in page
    assert "/admin/tasksapp/job/?tab=dead&amp;biz_type=order.close&amp;error_class=http.503" in page
    assert "?verb=redrive&amp;status=dead&amp;biz_type=order.close&amp;error_class=http.503" in page
    assert "?verb=drop&amp;status=dead&amp;biz_type=order.close&amp;error_class=http.503" in page


@pytest.mark.parametrize(
    ("query", "dead"),
    [
        ("error_class=timeout", "2,600 dead jobs of 1 kind"),
        ("biz_type=order.close&error_class=refused", "67 dead jobs of 1 kind"),
        ("died=hour", "44,667 dead jobs of 3 kinds"),
        ("biz_type=newsletter.send", "No dead job is of this kind."),
        ("died=hours&page=x", "44,667 dead jobs of 3 kinds"),
        ("error_class=%00%27", "No dead job is of this kind."),
    ],
)
def test_the_address_chooses_among_them(person: Client, query: str, dead: str) -> None:
    store_scene()

    assert dead in person.get(f"{PAGE}?{query}").content.decode()


def test_where_nothing_is_dead_it_says_so(person: Client) -> None:
    assert "Nothing is dead." in person.get(PAGE).content.decode()


def test_a_viewer_sees_neither_buttons_nor_what_receivers_answered(client: Client, django_user_model: Any) -> None:
    store_scene()
    viewer = django_user_model.objects.create_user("vera", password="x", is_staff=True)
    viewer.user_permissions.add(Permission.objects.get(codename="view_job"))
    client.force_login(viewer)

    page = client.get(PAGE).content.decode()

    assert "HTTP 503" in page
    for hidden in ("upstream connect error", "Redrive …", "Drop …", ">Test<", "Add issue"):
        assert hidden not in page


def test_the_page_asks_twelve_times_at_most_and_shows_a_page_of_many(person: Client) -> None:
    store_scene()
    store_issues(60)

    with CaptureQueriesContext(connection) as asked:
        page = person.get(PAGE).content.decode()

    own = [query["sql"] for query in asked if not re.search(r"django_session|auth_(user|group|perm)", query["sql"])]
    assert len(own) <= 12, "\n".join(own)
    assert "Page 1 of 3" in page
    assert "?page=2" in page


def test_the_part_that_refreshes_is_only_the_list(person: Client) -> None:
    answer = person.get(f"{PAGE}?fragment=1&error_class=timeout")

    assert "Delayhub-As-Of" in answer
    assert b"<html" not in answer.content
    assert b"Nothing is dead" not in answer.content
