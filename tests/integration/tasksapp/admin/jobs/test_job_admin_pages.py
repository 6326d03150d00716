"""What is done to jobs from their pages: by post, with the permission of the verb, after a question where needed."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

import pytest
from django.contrib.auth.models import Permission
from django.test import Client
from django.urls import reverse

from tasksapp.models import BizType, Job, Status
from tests.job_rows import job_row, store_job

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


def test_a_button_acts_and_needs_a_post(person: Client, biz_type: BizType) -> None:
    dead = store_job(biz_type, Status.DEAD)
    url = reverse("admin:tasksapp_job_redrive", args=[dead.pk])

    person.get(url)
    assert Job.objects.get().status == Status.DEAD
    person.post(url)
    assert Job.objects.get().status == Status.PENDING


@pytest.mark.parametrize(
    ("verb", "before", "after"),
    [("cancel", Status.PENDING, Status.CANCELLED), ("drop", Status.DEAD, Status.DROPPED)],
)
def test_what_cannot_be_undone_asks_first(
    person: Client, biz_type: BizType, verb: str, before: Status, after: Status
) -> None:
    job = store_job(biz_type, before)
    url = reverse(f"admin:tasksapp_job_{verb}", args=[job.pk])

    asked = person.get(url).content.decode()
    assert "1 job" in asked
    assert reverse("admin:tasksapp_job_change", args=[job.pk]) in asked
    assert Job.objects.get().status == before

    person.post(url, {"reason": "a mistake"})
    assert Job.objects.get().status == after


def test_the_question_about_a_job_that_is_gone_is_not_found(person: Client, db: None) -> None:
    assert person.get(reverse("admin:tasksapp_job_drop", args=[uuid4()])).status_code == 404


@pytest.mark.parametrize("given", [{"action": "explode"}, {"action": "redrive", "_selected_action": ["x"]}, {}])
def test_an_action_that_cannot_be_is_a_bad_request(person: Client, biz_type: BizType, given: dict[str, Any]) -> None:
    assert person.post(reverse(JOBS), given).status_code == 400


def test_an_action_without_jobs_says_so_and_keeps_the_address(person: Client, biz_type: BizType) -> None:
    address = reverse(JOBS) + "?tab=dead"

    answer = person.post(address, {"action": "redrive"})

    assert answer.url == address
    assert "choose jobs first" in person.get(address).content.decode()


def test_more_jobs_than_a_page_are_not_moved_at_once(person: Client, biz_type: BizType) -> None:
    jobs = Job.objects.bulk_create(job_row(biz_type) for _ in range(101))
    given = {"_selected_action": [str(job.pk) for job in jobs]}

    person.post(reverse(JOBS), {**given, "action": "reschedule"})
    person.post(reverse("admin:tasksapp_job_reschedule"), {**given, "due_at_0": "2030-07-01", "due_at_1": "12:00:00"})

    assert not Job.objects.filter(due_at__year=2030).exists()


@pytest.mark.parametrize("verb", ["run_now", "cancel", "redrive", "drop", "reschedule"])
def test_each_verb_needs_its_own_permission(
    client: Client, django_user_model: Any, biz_type: BizType, verb: str
) -> None:
    user = django_user_model.objects.create_user("operator", password="x", is_staff=True)
    others = Permission.objects.filter(content_type__app_label="tasksapp").exclude(codename=f"{verb}_job")
    user.user_permissions.set(others)
    client.force_login(user)
    job = store_job(biz_type, Status.DEAD if verb in {"redrive", "drop"} else Status.PENDING)
    single = reverse("admin:tasksapp_job_reschedule") if verb == "reschedule" else reverse(
        f"admin:tasksapp_job_{verb}", args=[job.pk]
    )  # fmt: skip
    moved = {"_selected_action": [str(job.pk)], "due_at_0": "2030-07-01", "due_at_1": "12:00:00"}

    assert client.post(single, moved).status_code == 403
    assert client.post(reverse(JOBS), {**moved, "action": verb}).status_code == 403
    assert Job.objects.get().version == job.version
