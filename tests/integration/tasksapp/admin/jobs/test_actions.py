"""Actions on the jobs that a person chose."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from django.contrib.auth.models import Permission
from django.test import Client
from django.urls import reverse

from tasksapp.models import UNTIL_RESUMED, BizType, Job, Status
from tests.fixture_types import MakeBizType
from tests.html_form import form_fields
from tests.job_rows import job_row, store_job

pytestmark = pytest.mark.django_db
JOBS = "admin:tasksapp_job_changelist"


@pytest.mark.parametrize(
    ("action", "before", "after", "other"),
    [
        ("cancel", Status.PENDING, Status.CANCELLED, Status.DEAD),
        ("run_now", Status.PENDING, Status.PENDING, Status.DEAD),
        ("redrive", Status.DEAD, Status.PENDING, Status.SUCCEEDED),
        ("drop", Status.DEAD, Status.DROPPED, Status.PENDING),
    ],
)
def test_an_action_changes_what_it_may_and_says_what_it_left(
    person: Client, biz_type: BizType, action: str, before: Status, after: Status, other: Status
) -> None:
    chosen, left = store_job(biz_type, before), store_job(biz_type, other)
    given = {"action": action, "_selected_action": [chosen.pk, left.pk], "confirmed": "yes"}

    answer = person.post(reverse(JOBS), given, follow=True)

    chosen.refresh_from_db()
    left.refresh_from_db()
    assert (chosen.status, left.status) == (after, other)
    told = [str(message) for message in answer.context["messages"]]
    assert told[0].startswith("1 job ")
    assert "1 job left alone" in told[1]


def told_after(browser: Client, action: str, jobs: Sequence[Job]) -> list[str]:
    """What the action says; not the banner of the page that it leads to, which says that no worker runs."""
    answer = browser.post(reverse(JOBS), {"action": action, "_selected_action": [job.pk for job in jobs]}, follow=True)
    # Without the banner that says that no worker runs here.
    return [str(message) for message in answer.context["messages"] if message.level_tag != "error"]


@pytest.mark.parametrize("action", ["run_now", "redrive"])
def test_a_person_reads_what_holds_the_jobs_that_were_made_due(
    admin_client: Client, biz_type: BizType, make_biz_type: MakeBizType, action: str
) -> None:
    before = Status.PENDING if action == "run_now" else Status.DEAD
    paused = make_biz_type("paused", paused_until=UNTIL_RESUMED)
    disabled = make_biz_type("disabled", enabled=False)
    jobs = [store_job(each, before) for each in (biz_type, paused, paused, disabled)]

    told = told_after(admin_client, action, jobs)

    assert len(told) == 3
    assert "2 jobs " in told[0]
    assert "held: paused is paused until somebody resumes it" in told[0]
    assert "held: disabled is disabled" in told[1]
    assert told[2].startswith("1 job ")
    assert "held" not in told[2]


def test_while_redis_is_away_a_person_reads_which_jobs_wait_for_it(
    person: Client, biz_type: BizType, make_biz_type: MakeBizType
) -> None:
    limited = make_biz_type("limited", delivery_rate=5.0)

    told = told_after(person, "run_now", [store_job(biz_type), store_job(limited), store_job(limited)])

    held, free = told
    assert held.startswith("2 jobs due now. But held: Redis does not answer, and the rate and slots are counted there")
    assert free == "1 job due now."  # a worker finds it in the database


def asked_by_page(browser: Client, address: str, rows: Sequence[Job]) -> dict[str, Any]:
    """What the page that asks whether to cancel those posts, as long as the person types no reason."""
    page = browser.post(address, {"action": "cancel", "_selected_action": [row.pk for row in rows]})
    fields = form_fields(page.content.decode(), "delayhub-confirm")
    assert fields["_selected_action"] in {str(row.pk) for row in rows}
    return {**fields, "_selected_action": [str(row.pk) for row in rows]}


@pytest.mark.parametrize(
    ("action", "status", "button"),
    [("cancel", Status.PENDING, "Cancel 2 jobs"), ("drop", Status.DEAD, "Drop 2 jobs")],
)
def test_what_cannot_be_undone_asks_first(
    person: Client, biz_type: BizType, action: str, status: Status, button: str
) -> None:
    rows = [store_job(biz_type, status), store_job(biz_type, status), store_job(biz_type, Status.SUCCEEDED)]

    page = person.post(reverse(JOBS), {"action": action, "_selected_action": [row.pk for row in rows]})

    text = page.content.decode()
    assert page.status_code == 200
    assert f">{button}</button>" in text
    assert "2 jobs of order.close" in text
    assert "1 chosen job is left alone" in text
    assert Job.objects.filter(status=status).count() == 2


def test_the_page_that_asks_leads_to_the_deed_and_back_to_the_same_list(person: Client, biz_type: BizType) -> None:
    rows = [store_job(biz_type), store_job(biz_type)]
    address = f"{reverse(JOBS)}?status__exact=pending"
    asked = asked_by_page(person, address, rows)

    answer = person.post(address, {**asked, "reason": "a duplicate import"})

    assert answer.headers["Location"] == address
    assert set(Job.objects.values_list("status", flat=True)) == {Status.CANCELLED}


def test_jobs_that_changed_while_the_page_asked_count_as_left_alone(person: Client, biz_type: BizType) -> None:
    rows = [store_job(biz_type), store_job(biz_type)]
    address = f"{reverse(JOBS)}?status__exact=pending"
    asked = asked_by_page(person, address, rows)
    Job.objects.filter(pk=rows[0].pk).update(status=Status.SUCCEEDED)

    answer = person.post(address, asked, follow=True)

    told = [str(message) for message in answer.context["messages"]]
    assert told[:2] == ["1 job cancelled.", "1 job left alone: its status is not “pending”."]


def test_one_job_is_cancelled_without_a_question(person: Client, biz_type: BizType) -> None:
    assert told_after(person, "cancel", [store_job(biz_type)]) == ["1 job cancelled."]


def test_more_than_a_page_of_jobs_is_refused_with_a_sentence(person: Client, biz_type: BizType) -> None:
    Job.objects.bulk_create(job_row(biz_type, Status.DEAD) for _ in range(101))
    everything = {"action": "redrive", "_selected_action": [str(job.pk) for job in Job.objects.all()]}

    answer = person.post(reverse(JOBS), everything, follow=True)

    assert "Nothing was changed: choose 100 jobs at most" in str(next(iter(answer.context["messages"])))
    assert Job.objects.filter(status=Status.DEAD).count() == 101


def test_a_person_acts_by_the_permission_of_the_verb(
    client: Client, django_user_model: Any, biz_type: BizType, settings: Any
) -> None:
    settings.DELAYHUB = {"REDIS_URL": "redis://127.0.0.1:1/0"}  # the database decides
    user = django_user_model.objects.create_user("op", password="x", is_staff=True)
    names = ["view_job", "change_job", "redrive_job"]
    user.user_permissions.set(Permission.objects.filter(content_type__app_label="tasksapp", codename__in=names))
    client.force_login(user)
    dead = store_job(biz_type, Status.DEAD)

    refused = client.post(reverse(JOBS), {"action": "drop", "_selected_action": [dead.pk]})
    client.post(reverse(JOBS), {"action": "redrive", "_selected_action": [dead.pk]})

    assert refused.status_code == 403
    assert Job.objects.get().status == Status.PENDING
