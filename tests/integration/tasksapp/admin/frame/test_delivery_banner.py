"""The banner of the admin's pages while no job is delivered."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from delayhub.engine import TimerLane
from tasksapp.models import BizType, Status
from tests.job_rows import store_job

pytestmark = pytest.mark.django_db

BANNER = "No job is delivered: no worker takes the timers of delayhub.timers"


@pytest.fixture
def person(admin_client: Client) -> Client:
    """A superuser's browser, on a Redis that answers."""
    return admin_client


def pages_of(biz_type: BizType) -> list[str]:
    job = store_job(biz_type)
    return [
        reverse("admin:index"),
        reverse("admin:tasksapp_job_changelist"),
        reverse("admin:tasksapp_job_change", args=[job.pk]),
        reverse("admin:tasksapp_biztype_changelist"),
        reverse("admin:tasksapp_biztype_change", args=[biz_type.pk]),
        reverse("admin:tasksapp_biztype_add"),
    ]


def test_each_page_with_jobs_or_biz_types_has_it_once(person: Client, biz_type: BizType) -> None:
    for page in pages_of(biz_type):
        assert person.get(page).content.decode().count(BANNER) == 1, page


def test_there_is_none_while_jobs_are_delivered(person: Client, biz_type: BizType, lane: TimerLane) -> None:
    lane.hold("a loader", lease_ms=60_000)

    for page in pages_of(biz_type):
        lane.claim()  # as workers do all the time, however long a page takes
        assert "o job is delivered" not in person.get(page).content.decode(), page


@pytest.mark.parametrize(("verb", "status"), [("run_now", Status.PENDING), ("redrive", Status.DEAD)])
def test_a_button_that_makes_a_job_due_says_that_it_waits_and_the_banner_says_once_why(
    person: Client, biz_type: BizType, verb: str, status: Status
) -> None:
    job = store_job(biz_type, status)

    answer = person.post(reverse(f"admin:tasksapp_job_{verb}", args=[job.pk]), follow=True)

    (done, why) = answer.context["messages"]
    assert done.level_tag == "warning"
    assert str(done).startswith("1 job ")
    assert str(done).endswith(" It waits until jobs are delivered again.")
    assert str(why).startswith(BANNER)


def test_a_button_says_no_such_thing_where_the_job_will_run(person: Client, biz_type: BizType, lane: TimerLane) -> None:
    lane.hold("a loader", lease_ms=60_000)
    lane.claim()
    job = store_job(biz_type)

    answer = person.post(reverse("admin:tasksapp_job_run_now", args=[job.pk]), follow=True)

    assert [(m.level_tag, str(m)) for m in answer.context["messages"]] == [("success", "1 job due now.")]


def test_only_superusers_see_where_redis_is(
    person: Client, biz_type: BizType, settings: Any, django_user_model: Any
) -> None:
    settings.DELAYHUB = {"REDIS_URL": "redis://127.0.0.1:1/0"}
    page = reverse("admin:tasksapp_job_changelist")

    assert "127.0.0.1:1/0" in person.get(page).content.decode()

    django_user_model.objects.update(is_superuser=False)
    user = django_user_model.objects.get()
    user.user_permissions.set([*user.user_permissions.model.objects.filter(codename="view_job")])
    seen = person.get(page).content.decode()
    assert "Redis does not answer: workers go on" in seen
    assert "127.0.0.1:1/0" not in seen
