"""Jobs in the admin: lists, pages and buttons."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from tasksapp.models import Attempt, BizType, Job, Status
from tests.job_rows import store_job

pytestmark = pytest.mark.django_db
JOBS = "admin:tasksapp_job_changelist"


def test_jobs_are_moved_to_the_time_that_was_given(person: Client, biz_type: BizType, settings: Any) -> None:
    settings.TIME_ZONE = "Europe/Berlin"
    moved = store_job(biz_type)
    asked = person.post(reverse(JOBS), {"action": "reschedule", "_selected_action": [moved.pk]})
    assert b"Europe/Berlin" in asked.content

    given = {"due_at_0": "2030-07-01", "due_at_1": "12:00:00", "_selected_action": [str(moved.pk)]}
    person.post(reverse("admin:tasksapp_job_reschedule"), given)

    moved.refresh_from_db()
    assert moved.due_at.isoformat() == "2030-07-01T10:00:00+00:00"


@pytest.mark.parametrize("when", [("", ""), ("2300-01-01", "00:00:00"), ("soon", "later")])
def test_a_time_that_cannot_be_moves_nothing(person: Client, biz_type: BizType, when: tuple[str, str]) -> None:
    kept = store_job(biz_type)

    given = {"due_at_0": when[0], "due_at_1": when[1], "_selected_action": [str(kept.pk)]}
    answer = person.post(reverse("admin:tasksapp_job_reschedule"), given)

    assert answer.context["form"].errors
    assert Job.objects.get().due_at == kept.due_at


def test_a_jobs_page_shows_its_attempts_and_only_the_buttons_its_status_allows(
    person: Client, biz_type: BizType
) -> None:
    dead = store_job(biz_type, Status.DEAD, last_error="500", attempts=1)
    Attempt.objects.create(
        job=dead, number=1, started_at=timezone.now(), duration_ms=3, lateness_ms=1, status_code=500, error="HTTP 500"
    )

    page = person.get(reverse("admin:tasksapp_job_change", args=[dead.pk])).content.decode()

    assert "HTTP 500" in page
    assert "&quot;order&quot;: 42" in page
    assert ">Redrive</button>" in page
    assert ">Drop</button>" in page
    assert ">Cancel</button>" not in page


def test_a_button_acts_and_needs_a_post(person: Client, biz_type: BizType) -> None:
    dead = store_job(biz_type, Status.DEAD)
    url = reverse("admin:tasksapp_job_redrive", args=[dead.pk])

    person.get(url)
    assert Job.objects.get().status == Status.DEAD
    person.post(url)
    assert Job.objects.get().status == Status.PENDING


def test_jobs_are_found_by_id_and_by_biz_id(person: Client, biz_type: BizType) -> None:
    found, _ = store_job(biz_type, biz_id="A-1"), store_job(biz_type, biz_id="A-2")

    def results(term: str) -> list[Job]:
        return list(person.get(reverse(JOBS), {"q": term}).context["cl"].result_list)

    assert results(str(found.pk)) == [found]
    assert results("A-1") == [found]
    assert results("A-") == []
    assert results("") != []


def test_a_long_list_is_not_counted_to_its_end(
    person: Client, biz_type: BizType, django_assert_max_num_queries: Any
) -> None:
    for _ in range(60):
        store_job(biz_type)

    with django_assert_max_num_queries(12) as queries:
        person.get(reverse(JOBS))

    counts = [
        query["sql"]
        for query in queries.captured_queries
        if "COUNT(" in query["sql"] and "delayhub_job" in query["sql"]
    ]
    assert counts
    assert all("LIMIT" in sql for sql in counts)


def test_jobs_are_neither_added_nor_deleted_by_hand(person: Client, biz_type: BizType) -> None:
    kept = store_job(biz_type)

    assert person.get(reverse("admin:tasksapp_job_add")).status_code == 403
    assert person.post(reverse("admin:tasksapp_job_delete", args=[kept.pk]), {"post": "yes"}).status_code == 403
    assert Job.objects.exists()


def test_a_person_without_permission_cannot_act(client: Client, django_user_model: Any, biz_type: BizType) -> None:
    client.force_login(django_user_model.objects.create_user("viewer", password="x", is_staff=True))
    dead = store_job(biz_type, Status.DEAD)

    client.post(reverse("admin:tasksapp_job_redrive", args=[dead.pk]))
    client.post(reverse("admin:tasksapp_job_reschedule"), {"_selected_action": [str(dead.pk)]})

    assert Job.objects.get().status == Status.DEAD
