"""The history of operations in the admin."""

from __future__ import annotations

import html
import re
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from tasksapp.models import BizType, Operation
from tests.fixture_types import MakeBizType
from tests.integration.tasksapp.operation_runs import dead_jobs, pending_jobs, planned, started, worked_off

pytestmark = pytest.mark.django_db(transaction=True)

HISTORY = reverse("admin:tasksapp_operation_changelist")


def numbers(browser: Client, **query: str) -> list[int]:
    """The operations that the history lists."""
    return [row.pk for row in browser.get(HISTORY, query).context["cl"].rows]


def test_the_history_lists_the_newest_first_with_its_numbers(person: Client, biz_type: BizType) -> None:
    dead_jobs(biz_type, 3)
    first = worked_off(started(biz_type="order.close"))
    second = planned(biz_type="order.close")

    page = person.get(HISTORY).content.decode()

    assert numbers(person) == [second.pk, first.pk]
    assert "Redrive dead jobs of order.close" in page
    assert f'<a href="{reverse("admin:tasksapp_job_changelist")}?operation={first.pk}">3</a>' in page


def test_the_history_is_filtered_by_state_and_biz_type(person: Client, make_biz_type: MakeBizType) -> None:
    ended = worked_off(started(biz_type=make_biz_type("a").code))
    other = make_biz_type("b")
    not_ended = planned(biz_type=other.code)

    assert numbers(person, open="no") == [ended.pk]
    assert numbers(person, open="yes") == [not_ended.pk]
    assert numbers(person, biz_type__id__exact=str(other.pk)) == [not_ended.pk]
    assert numbers(person, biz_type__id__exact="", open="") == [not_ended.pk, ended.pk]


@pytest.mark.parametrize("query", ["reason__regex=(a*)*", "job_filter__biz_type=a", "open=maybe", "p=x", "o=99"])
def test_no_other_filter_reaches_the_database(person: Client, query: str) -> None:
    answer = person.get(f"{HISTORY}?{query}", follow=True)

    assert answer.status_code in {200, 400}


def test_an_empty_history_says_how_operations_begin(person: Client) -> None:
    assert "No operation yet" in person.get(HISTORY).content.decode()


def test_operations_are_neither_added_nor_changed_nor_deleted_by_hand(person: Client, biz_type: BizType) -> None:
    operation = planned(biz_type="order.close")

    assert person.get(reverse("admin:tasksapp_operation_add")).status_code == 403
    url = reverse("admin:tasksapp_operation_delete", args=[operation.pk])
    assert person.post(url, {"post": "yes"}).status_code == 403
    person.post(reverse("admin:tasksapp_operation_change", args=[operation.pk]), {"verb": "drop", "_save": ""})
    assert Operation.objects.get().verb == "redrive"


def test_a_long_history_is_read_by_the_page(
    person: Client, make_biz_type: MakeBizType, django_assert_max_num_queries: Any
) -> None:
    for code in "abc":
        row = make_biz_type(code)
        Operation.objects.bulk_create(
            Operation(verb="drop", biz_type=row, job_filter={"biz_type": code}) for _ in range(30)
        )

    with django_assert_max_num_queries(8):  # two of them for session and user
        assert len(numbers(person)) == 50


def test_title_numbers_and_buttons_are_there_in_a_theme_that_has_nothing_but_the_content_block(
    person: Client, biz_type: BizType, settings: Any
) -> None:
    dead_jobs(biz_type, 2)
    operation = planned(biz_type="order.close")
    themes = {"admin/base_site.html": "{% block content %}{% endblock %}"}
    loaders = [("django.template.loaders.locmem.Loader", themes), "django.template.loaders.app_directories.Loader"]
    (engine,) = settings.TEMPLATES
    settings.TEMPLATES = [{**engine, "APP_DIRS": False, "OPTIONS": {**engine["OPTIONS"], "loaders": loaders}}]

    page = person.get(reverse("admin:tasksapp_operation_change", args=[operation.pk])).content.decode()

    assert "Redrive dead jobs of order.close</h1>" in page
    assert "<strong>2</strong>" in page
    assert ">Redrive 2 jobs</button>" in page


@pytest.mark.urls("tests.integration.tasksapp.admin.second_site")
def test_on_a_second_admin_site_all_links_stay_on_it(person: Client, biz_type: BizType) -> None:
    dead_jobs(biz_type, 2)
    plan = planned(biz_type="order.close")
    run = started(biz_type="order.close")
    done = worked_off(started(biz_type="order.close"))
    site = "/second/tasksapp/operation/"

    pages = [
        person.get(url).content.decode()
        for url in (
            site,
            f"{site}plan/?verb=redrive&biz_type=order.close",
            f"{site}plan/?verb=none",
            *(f"{site}{operation.pk}/change/" for operation in (plan, run, done)),
        )
    ]
    asked = {"action": "drop", "_selected_action": [job.pk for job in biz_type.jobs.all()]}
    pages.append(person.post("/second/tasksapp/job/", asked).content.decode())
    answer = person.post(f"{site}plan/?verb=redrive&biz_type=order.close")

    for page in pages:
        assert not re.findall(r'(?:href|action)="/admin/[^"]*"', page)
    assert answer.headers["Location"].startswith(site)


@pytest.mark.parametrize(
    "query", ["tab=dead", "tab=dead&biz_type=order.close&error_class=http.503", "tab=pending", "tab=due"]
)
def test_all_that_the_list_of_jobs_shows_can_be_planned_for(person: Client, biz_type: BizType, query: str) -> None:
    dead_jobs(biz_type, 2, error_class="http.503")
    pending_jobs(biz_type, 2, due_in=-timedelta(hours=1))
    page = person.get(f"{reverse('admin:tasksapp_job_changelist')}?{query}").content.decode()
    links = re.findall(r'href="([^"]*/operation/plan/[^"]*)"', page)

    answers = [person.get(html.unescape(link)) for link in links]

    assert len(links) >= 2
    assert [answer.status_code for answer in answers] == [200] * len(links)
