"""The page of an answer link: GET changes nothing and knows nobody; a POST answers, once, with a choice."""

from __future__ import annotations

import json
import re
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from tasksapp import jobs
from tasksapp.api import answer_page
from tasksapp.models import AnswerLink, AuditEntry, BizType, Job
from tests.fixture_types import MakeBizType
from tests.integration.tasksapp.stored_jobs import due

pytestmark = pytest.mark.django_db(transaction=True)

PAGE = "/api/answer"


@pytest.fixture(autouse=True)
def _nobody_has_asked() -> None:
    answer_page._asked.forget()


@pytest.fixture
def token(make_biz_type: MakeBizType, settings: Any) -> str:
    """That of a link to a job that waits."""
    settings.DELAYHUB = {**settings.DELAYHUB, "SITE_URL": "https://delayhub.example"}
    make_biz_type("after.answer")
    make_biz_type("ask", on_resolved="after.answer")
    job_id = due("ask", biz_id="42", delay=timedelta(hours=1))
    made = jobs.make_link(job_id, outcomes=["approved", "rejected"], given_to="eve", question="May it be paid?")
    return made.url.partition("#")[2]


def posted(client: Client, **fields: Any) -> Any:
    headers = {"user-agent": "Phone/1.0"}
    return client.post(PAGE, json.dumps(fields), content_type="application/json", headers=headers)


@pytest.mark.parametrize("method", ["get", "head"])
def test_whatever_scans_mails_changes_nothing_and_asks_no_database(
    client: Client, token: str, method: str, django_assert_num_queries: Any
) -> None:
    before = AnswerLink.objects.values().get()

    with django_assert_num_queries(0):
        pages = [getattr(client, method)(address) for address in (PAGE, f"{PAGE}?token={token}&outcome=approved")]

    assert [page.status_code for page in pages] == [200, 200]
    assert token not in pages[1].content.decode()
    assert AnswerLink.objects.values().get() == before
    assert Job.objects.get().status == "pending"


def test_the_page_is_for_nobody_else_to_keep_frame_find_or_hear_of(client: Client) -> None:
    page = client.get(PAGE, headers={"host": "testserver"})

    headers = page.headers
    assert "no-store" in headers["Cache-Control"]
    assert headers["Referrer-Policy"] == "no-referrer"
    assert "noindex" in headers["X-Robots-Tag"]
    policy = headers["Content-Security-Policy"]
    nonce = re.search(r"script-src 'nonce-([\w-]+)'", policy)
    assert nonce
    assert "default-src 'none'" in policy
    assert "frame-ancestors 'none'" in policy
    text = page.content.decode()
    assert text.count(f'nonce="{nonce[1]}"') == text.count("<script") + text.count("<style")
    assert "This page needs JavaScript" in text
    assert not page.cookies
    assert nonce[1] not in client.get(PAGE).headers["Content-Security-Policy"]


@pytest.mark.parametrize(
    ("asked", "title", "language"), [("zh-CN,zh", "您的答复", "zh-hans"), ("en", "Your answer", "en")]
)
def test_it_speaks_the_language_that_the_browser_asks_for(
    client: Client, asked: str, title: str, language: str
) -> None:
    text = client.get(PAGE, headers={"accept-language": asked}).content.decode()

    assert f"<title>{title}</title>" in text
    assert f'<html lang="{language}">' in text


def test_a_choice_answers_once(token: str) -> None:
    client = Client(enforce_csrf_checks=True)

    asked = posted(client, token=token)
    answered = posted(client, token=token, outcome="approved")
    again = posted(client, token=token, outcome="rejected")
    after = posted(client, token=token)

    assert asked.json()["question"] == "May it be paid?"
    assert asked.json()["outcomes"] == ["approved", "rejected"]
    assert (answered.status_code, answered.json()) == (200, {"outcome": "approved"})
    assert [answer.status_code for answer in (again, after)] == [410, 410]
    assert (again.json()["code"], again.json()["why"]) == ("link_over", "used")
    assert not any(answer.cookies for answer in (asked, answered, again))
    assert again.headers["Referrer-Policy"] == "no-referrer"
    entry = AuditEntry.objects.filter(verb="resolve", job_id=None).get()
    assert (entry.actor, entry.address, entry.reason) == ("the link given to eve", "127.0.0.1", "Phone/1.0")


def test_what_posts_forms_answers_nothing(client: Client, token: str) -> None:
    form = client.post(PAGE, {"token": token, "outcome": "approved"})
    unchosen = posted(client, token=token, outcome="")
    strange = posted(client, token=token, answer="approved")

    assert [answer.status_code for answer in (form, unchosen, strange)] == [415, 400, 400]
    assert Job.objects.filter(biz_type__code="ask").get().status == "pending"


def test_after_its_time_it_is_too_late_and_one_that_is_none_is_not_found(client: Client, token: str) -> None:
    AnswerLink.objects.update(expires_at=timezone.now())

    late, unknown, none = posted(client, token=token, outcome="approved"), posted(client, token="x"), posted(client)

    assert (late.status_code, late.json()["why"]) == (410, "late")
    assert [answer.status_code for answer in (unknown, none)] == [404, 404]
    assert client.put(PAGE).status_code == 405


def test_nobody_is_asked_a_question_that_no_key_opens(client: Client, token: str, make_biz_type: MakeBizType) -> None:
    make_biz_type("ask.secretly", on_resolved="after.answer", encrypted=True)
    job_id = due("ask.secretly", biz_id="43", delay=timedelta(hours=1))
    made = jobs.make_link(job_id, outcomes=["approved"], given_to="eve", question="May it be paid?")
    AnswerLink.objects.update(question="@1abcdefghAAAA")

    asked = posted(client, token=made.url.partition("#")[2])

    assert (asked.status_code, asked.json()["code"]) == (409, "secrets_unreadable")
    assert "question" not in asked.json()


def test_a_tenant_that_moves_is_asked_later(client: Client, token: str) -> None:
    BizType.objects.filter(code="ask").update(moved_to="moving")

    assert posted(client, token=token, outcome="approved").status_code == 503
    assert AnswerLink.objects.get().used_at is None


def test_who_asks_too_often_waits_and_who_guesses_keeps_nobody_else_from_answering(
    client: Client, token: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(answer_page._asked, "most", 3)
    guessed = [posted(client, token=f"guess {number}").status_code for number in range(4)]
    beside = posted(client, token=token)  # from the same address: that of their office, or of the site's proxy
    answer_page._asked.succeeded(Job.objects.get(biz_type__code="ask").id)
    elsewhere = Client(REMOTE_ADDR="192.0.2.7")
    looked = [posted(elsewhere, token=token) for _ in range(4)]

    assert guessed == [404, 404, 404, 429]
    assert beside.status_code == 200
    assert [answer.status_code for answer in looked] == [200, 200, 200, 429]
    assert 0 < int(looked[-1].headers["Retry-After"]) <= 60
