"""The page of a job: what it shows (also of its ``siblings``), to whom, and what it asks the database."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from cryptography.fernet import Fernet
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from tasksapp.delivery.own_request import OwnRequest
from tasksapp.jobs.creation import create
from tasksapp.models import Attempt, AuditEntry, BizType, Job, Status, Tenant
from tests.fixture_types import MakeBizType
from tests.job_rows import store_job

pytestmark = pytest.mark.django_db


def page_of(job: Job, person: Client, **query: Any) -> str:
    answer = person.get(reverse("admin:tasksapp_job_change", args=[job.pk]), query)
    assert answer.status_code == 200
    return str(answer.content.decode())


def add_attempts(job: Job, count: int, **fields: Any) -> None:
    values: dict[str, Any] = {"duration_ms": 28, "lateness_ms": 3, "status_code": 500, "error": "status 500", **fields}
    Attempt.objects.bulk_create(
        Attempt(job=job, number=number, started_at=job.due_at + timedelta(seconds=number), **values)
        for number in range(1, count + 1)
    )


def test_the_head_says_how_the_job_stands_and_what_may_be_done(person: Client, biz_type: BizType) -> None:
    dead = store_job(biz_type, Status.DEAD, due_in=-timedelta(minutes=5), biz_id="order-7", last_error="status 500")

    page = page_of(dead, person)

    assert '<h1 dir="auto">order-7</h1>' in page
    assert "Dead since " in page
    assert ">Redrive</button>" in page
    assert f'delayhub-danger" href="{reverse("admin:tasksapp_job_drop", args=[dead.pk])}"' in page
    assert "Cancel" not in page
    assert "Edit" not in page


def test_a_waiting_job_can_be_run_moved_edited_and_cancelled(person: Client, biz_type: BizType) -> None:
    page = page_of(store_job(biz_type), person)

    places = [page.find(label) for label in (">Run now<", ">Reschedule …<", ">Edit …<", ">Cancel …<")]
    assert -1 not in places
    assert places == sorted(places)


def test_the_body_is_shown_as_it_was_written(person: Client, biz_type: BizType) -> None:
    job = store_job(biz_type, body='{"amount":1e2,"order":90071992547409931234,"name":"\\u00e9<b>"}')

    page = page_of(job, person)

    assert "&quot;amount&quot;: 1e2," in page
    assert "&quot;order&quot;: 90071992547409931234," in page
    assert "&quot;name&quot;: &quot;\\u00e9&lt;b&gt;&quot;" in page


def test_what_is_encrypted_is_shown_and_said_to_be_so(person: Client, biz_type: BizType, settings: Any) -> None:
    BizType.objects.update(encrypted=True)
    job = create("order.close", delay=60, body={"card": "4111-0042"}).job
    add_attempts(job, 1)

    assert "4111-0042" in page_of(job, person)
    assert "<dt>At rest</dt><dd><bdi>encrypted</bdi></dd>" in page_of(job, person)

    settings.DELAYHUB = {**settings.DELAYHUB, "ENCRYPTION_KEYS": [Fernet.generate_key().decode()]}
    page = page_of(job, person)
    assert "4111-0042" not in page
    assert "no key of ENCRYPTION_KEYS opens it. Bring the key back." in page
    edit = person.get(reverse("admin:tasksapp_job_edit", args=[job.pk]), follow=True)
    assert "It cannot be edited" in edit.content.decode()


def test_other_jobs_of_the_biz_id_are_named(person: Client, biz_type: BizType, make_biz_type: MakeBizType) -> None:
    job = store_job(biz_type, biz_id="order-7")
    others = [store_job(biz_type, Status.SUCCEEDED, biz_id="order-7") for _ in range(7)]
    store_job(make_biz_type("order.remind"), biz_id="order-7")
    store_job(make_biz_type("theirs", tenant=Tenant.objects.create(code="acme")), biz_id="order-7")

    page = page_of(job, person)

    assert "8 more jobs of this biz id" in page
    assert "order.remind <a" in page
    assert sum(reverse("admin:tasksapp_job_change", args=[other.pk]) in page for other in others) == 4


def test_a_task_shows_its_task_and_no_request(person: Client, make_biz_type: MakeBizType) -> None:
    job = store_job(make_biz_type("report", target="celery", task_name="reports.make"), Status.DEAD)
    add_attempts(job, 1, status_code=None, error="ValueError: no")

    page = page_of(job, person)

    assert "reports.make" in page
    assert "Arguments" in page
    assert "ValueError: no" in page
    assert "curl" not in page


def test_it_asks_twelve_questions_at_most_however_many_attempts_there_are(
    person: Client, biz_type: BizType, django_assert_max_num_queries: Any
) -> None:
    job = store_job(biz_type, Status.DEAD, biz_id="order-7", due_in=-timedelta(hours=1), last_error="no")
    for _ in range(9):
        store_job(biz_type, biz_id="order-7")
    add_attempts(job, 150)
    AuditEntry.objects.bulk_create(
        AuditEntry(at=timezone.now(), actor="ada", verb="redrive", job_id=job.id) for _ in range(150)
    )
    page_of(job, person)

    with django_assert_max_num_queries(14):  # two are for the session and the person
        page = page_of(job, person)

    assert "attempt 150:" in page
    assert "attempt 51:" in page
    assert "attempt 50:" not in page
    assert "attempt 50:" in page_of(job, person, before="51")
    assert "attempt 51:" not in page_of(job, person, before="51")


@pytest.mark.parametrize("before", ["x", "-1", "9" * 30, "²", ""])
def test_a_page_of_attempts_that_cannot_be_is_the_last_one(person: Client, biz_type: BizType, before: str) -> None:
    job = store_job(biz_type, Status.DEAD)
    add_attempts(job, 1)

    assert "attempt 1:" in page_of(job, person, before=before)


def test_a_page_says_why_it_does_not_have_what_was_sent_and_answered(person: Client, biz_type: BizType) -> None:
    job = store_job(biz_type, Status.SUCCEEDED)
    add_attempts(job, 1, status_code=200, error="")

    page = page_of(job, person)

    assert "was not kept: the first attempt succeeded (KEPT_EXCHANGES)" in page
    assert "Response: 200" in page
    assert "had no body" not in page


def test_what_jobs_carry_is_hidden_from_who_may_not_see_it(viewer: Client, biz_type: BizType) -> None:
    job = store_job(biz_type, Status.DEAD, biz_id="order-7", body='{"card": "s3cret"}', last_error="status 500: s3cret")
    add_attempts(
        job, 1, error="status 500: s3cret", response_body="s3cret", response_headers={"X-Name": "s3cret"},
        request_line="POST https://shop.example/", request_headers={"X-Name": "s3cret"},
    )  # fmt: skip
    AuditEntry.objects.create(
        at=timezone.now(), actor="ada", verb="edit", job_id=job.id, after={"body": {"bytes": 6, "text": "s3cret"}}
    )

    page = page_of(job, viewer)

    assert "s3cret" not in page
    assert "your account may not see what jobs carry" in page
    assert "hidden (18 bytes)" in page
    assert "X-Name" in page
    assert "curl" not in page
    assert ">Redrive<" not in page


def test_who_may_not_view_jobs_sees_no_page(client: Client, django_user_model: Any, biz_type: BizType) -> None:
    client.force_login(django_user_model.objects.create_user("nobody", password="x", is_staff=True))
    job = store_job(biz_type)

    assert client.get(reverse("admin:tasksapp_job_change", args=[job.pk])).status_code == 403
    assert client.get(reverse("admin:tasksapp_job_changelist")).status_code == 403


@pytest.mark.parametrize("job_id", ["00000000-0000-7000-8000-000000000000", "no-id", "\0"])
def test_a_job_that_is_gone_leads_to_the_list_and_says_so(person: Client, db: None, job_id: str) -> None:
    answer = person.get(reverse("admin:tasksapp_job_change", args=[job_id]), follow=True)

    assert answer.redirect_chain[-1][0] == reverse("admin:tasksapp_job_changelist")
    assert "There is no job" in answer.content.decode()


def test_all_columns_but_the_lease_are_shown_raw(person: Client, biz_type: BizType) -> None:
    page = page_of(store_job(biz_type, traceparent="00-ab", lease_token=424242), person)

    assert "00-ab" in page
    assert "424242" not in page


def test_its_own_request_is_shown_without_secrets(person: Client, viewer: Client, biz_type: BizType) -> None:
    own = OwnRequest(2.5, "https://a.example/?key=s3cret", {"X-Region": "eu-1"}, {"Authorization": "gAAAAs3cret"})
    job = store_job(biz_type, request=own.text())
    add_attempts(job, 1, request_line="POST https://a.example/?key=(hidden)")

    page, masked = page_of(job, person), page_of(job, viewer)

    assert all(text in page for text in ("2.5 s", "https://a.example/?key=", "eu-1", "Authorization", "(hidden)"))
    assert "s3cret" not in page
    assert "eu-1" not in masked
    assert "https://a.example" not in masked

    Job.objects.update(request="")  # what was sent before it was edited stays hidden
    Attempt.objects.create(
        job=job, number=2, started_at=timezone.now(), duration_ms=1, lateness_ms=1, status_code=500,
        request_line=f"POST {biz_type.url}",
    )  # fmt: skip
    edited = page_of(job, viewer)
    assert "https://a.example" not in edited
    assert f"POST {biz_type.url}" in edited


@pytest.mark.parametrize(
    ("raw", "shown", "source"),
    [
        (b"<a b='1'>\r\n</a>", "&lt;a b=&#x27;1&#x27;&gt;", "&lt;a b=&#x27;1&#x27;&gt;"),
        (b"\x00\xff<a>", "0000 00 ff 3c 61 3e          ..&lt;a&gt;</pre>", "AP88YT4=</pre>"),
        (b"\xff" * 4_000, "00f8 ff ff ff ff ff ff ff ff ........</pre>", "/" * 4_096 + "</pre>"),
    ],
    ids=["text", "bytes", "many bytes"],
)
def test_exact_bytes_are_shown_as_a_text_or_in_digits(
    person: Client, viewer: Client, biz_type: BizType, raw: bytes, shown: str, source: str
) -> None:
    request = OwnRequest(content_type="image/x-secret").text()
    job = store_job(biz_type, body="null", raw=raw, request=request)
    add_attempts(job, 1, request_line="POST https://a.example/", request_headers={"Content-Type": "image/x-secret"})

    page, masked = page_of(job, person), page_of(job, viewer)

    assert (shown in page, source in page, "image/x-secret" in page) == (True, True, True)
    assert f"hidden ({len(raw):,} bytes)" in masked
    assert [part in masked for part in (shown, source, "image/x-secret", "curl")] == [False] * 4
    assert ("4,000 bytes that are no text" in page) == ("The first 256 bytes" in page) == (len(raw) == 4_000)
