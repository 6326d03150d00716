"""A person makes a link by which others answer, sees its address once, and withdraws it."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from tasksapp.admin.frame.masking import ShownOnce
from tasksapp.jobs.answer_links import look_at_link
from tasksapp.models import AnswerLink, AuditEntry, BizType, Job
from tests.fixture_types import MakeBizType
from tests.job_rows import store_job

pytestmark = pytest.mark.django_db

FIELDS = {"given_to": "eve@shop.example", "question": "May it be paid?", "outcomes": "approved\r\nrejected\r\n"}


@pytest.fixture
def job(make_biz_type: MakeBizType) -> Job:
    """A job that waits for an answer."""
    make_biz_type("after.answer")
    return store_job(make_biz_type("ask", on_resolved="after.answer"), biz_id="42", due_in=timedelta(hours=1))


def url(page: str, job: Job, *more: object) -> str:
    return reverse(f"admin:tasksapp_job_{page}", args=[job.pk, *more])


def test_a_link_is_shown_once_and_withdrawn(person: Client, job: Job, settings: Any) -> None:
    settings.DELAYHUB = {**settings.DELAYHUB, "SITE_URL": "https://delayhub.example"}

    before = person.get(url("change", job)).content.decode()
    asked = person.get(url("link", job)).content.decode()
    made = person.post(url("link", job), FIELDS)
    shown = person.get(url("change", job)).content.decode()

    assert f'href="{url("link", job)}"' in before
    assert 'name="outcomes"' in asked
    address = re.search(r"https://delayhub\.example/api/answer#([\w-]+)", made.content.decode())
    assert address
    assert "no-store" in made.headers["Cache-Control"]
    assert look_at_link(address[1])[0].outcomes == ["approved", "rejected"]
    assert "eve@shop.example" in shown
    assert address[1] not in shown
    link = AnswerLink.objects.get()
    assert f'action="{url("withdraw_link", job, link.pk)}"' in shown

    person.get(url("withdraw_link", job, link.pk))
    assert AnswerLink.objects.exists()
    after = person.post(url("withdraw_link", job, link.pk), follow=True).content.decode()
    assert "The link was withdrawn" in after
    assert "eve@shop.example" not in after.partition("Facts")[2]
    assert person.post(url("withdraw_link", job, link.pk)).status_code == 404
    assert set(AuditEntry.objects.values_list("verb", "actor")) == {("link", "admin"), ("withdraw_link", "admin")}


def test_what_is_shown_once_is_in_no_log() -> None:
    url = ShownOnce("https://delayhub.example/api/answer#secret")

    assert (str(url).endswith("secret"), "secret" in repr(url)) == (True, False)


def test_what_is_refused_is_said_and_what_was_written_stays(person: Client, job: Job) -> None:
    page = person.post(url("link", job), FIELDS).content.decode()

    assert "SITE_URL" in page
    assert 'value="eve@shop.example"' in page
    assert not AnswerLink.objects.exists()


def test_a_used_link_is_shown_and_not_withdrawn(person: Client, job: Job) -> None:
    now = timezone.now()
    fields: dict[str, Any] = {"biz_type": job.biz_type, "job_id": job.pk, "outcomes": ["approved"]}
    link = AnswerLink.objects.create(
        **fields, given_to="eve", hashed_token="x", expires_at=now, used_at=now, created_at=now
    )

    page = person.get(url("change", job)).content.decode()

    assert "Answer links" in page
    assert url("withdraw_link", job, link.pk) not in page


def test_who_may_not_cancel_makes_none_and_other_jobs_have_none(
    person: Client, viewer: Client, job: Job, biz_type: BizType, django_assert_num_queries: Any
) -> None:
    other = store_job(biz_type, biz_id="7")

    assert viewer.get(url("link", job)).status_code == 403
    assert viewer.post(url("withdraw_link", job, 1)).status_code == 403
    assert url("link", job) not in viewer.get(url("change", job)).content.decode()
    assert url("link", other) not in person.get(url("change", other)).content.decode()
