"""The timeline of a job's page."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.test import RequestFactory

from tasksapp.admin.jobs.timeline import Timeline, read_timeline
from tasksapp.delivery.outcomes import REMARK
from tasksapp.delivery.sent_headers import SentHeaders
from tasksapp.models import Attempt, AuditEntry, BizType, Job, Status
from tests.job_rows import store_job

pytestmark = pytest.mark.django_db


@pytest.fixture
def job(biz_type: BizType) -> Job:
    return store_job(biz_type, Status.DEAD, due_in=-timedelta(hours=1), created_by="api:checkout", attempts=2)


def timeline(job: Job, admin_user: Any, *, before: int | None = None) -> Timeline:
    request = RequestFactory().get("/")
    request.user = admin_user
    return read_timeline(request, Job.objects.select_related("biz_type").get(id=job.id), before=before)


def store_attempt(job: Job, number: int, **fields: Any) -> None:
    at = job.created_at + timedelta(minutes=number)
    Attempt.objects.create(job=job, number=number, started_at=at, **{"duration_ms": 28, "lateness_ms": 3, **fields})


def test_deeds_and_attempts_follow_in_time(job: Job, admin_user: Any) -> None:
    store_attempt(job, 1, status_code=500, error="status 500")
    store_attempt(job, 3, status_code=204)
    AuditEntry.objects.create(
        at=job.created_at + timedelta(minutes=2), actor="ada", verb="redrive", job_id=job.id, reason="it is up again",
        before={"status": "dead"}, after={"status": "pending"},
    )  # fmt: skip

    events = timeline(job, admin_user).events

    assert [event.text for event in events] == [
        "created by api:checkout", "attempt 1: 500 after 28 ms", "redrive by ada", "attempt 3: 204 after 28 ms", "dead",
    ]  # fmt: skip
    assert [event.kind for event in events] == ["", "bad", "", "ok", "bad"]
    assert events[2].detail == "it is up again"
    assert [(change.before, change.after) for change in events[2].changes] == [("dead", "pending")]


def test_an_attempt_has_what_was_sent_and_answered(job: Job, admin_user: Any) -> None:
    store_attempt(
        job, 1, status_code=500, error="status 500", request_line="POST https://shop.example/",
        request_headers={"Authorization": "Bearer (hidden)"}, response_headers={"Server": "nginx"},
        response_body="oops",
    )  # fmt: skip

    exchange = timeline(job, admin_user).events[1].exchange

    assert exchange is not None
    assert exchange.request_line == "POST https://shop.example/"
    assert exchange.request_headers == [("Authorization", "Bearer (hidden)")]
    assert exchange.response_headers == [("Server", "nginx")]
    assert "oops" in str(exchange.response_body)
    assert "Bearer <SECRET>" in exchange.curl


def test_a_remark_on_an_answer_is_shown_and_is_no_failure(job: Job, admin_user: Any) -> None:
    store_attempt(job, 1, status_code=204, error="", response_headers={REMARK: "the body is too long"})

    attempt = timeline(job, admin_user).events[1]

    assert attempt.kind == "ok"
    assert attempt.detail.startswith("the body is too long · ")


def test_the_next_attempt_of_a_snoozed_job_says_why_and_that_of_a_failed_one_does_not_repeat_it(
    job: Job, admin_user: Any
) -> None:
    pending = Job.objects.filter(id=job.id)
    pending.update(status=Status.PENDING, last_error="the receiver said: snooze", error_class="asked")
    snoozed = timeline(job, admin_user).events[-1]
    store_attempt(job, 1, status_code=503, error="status 503")
    pending.update(last_error="status 503", error_class="http.503")
    failed = timeline(job, admin_user).events[-1]

    assert [snoozed.detail, failed.detail] == ["the receiver said: snooze", ""]


def test_headers_that_are_kept_short_are_shown_whole(job: Job, admin_user: Any) -> None:
    sent = SentHeaders(1_000, 1, 3, 0, 2, True, False, "", ("DelayHub/1", "order.close"))
    store_attempt(job, 1, status_code=204, request_line="POST https://shop.example/", request_headers=sent)

    exchange = timeline(job, admin_user).events[1].exchange

    assert exchange is not None
    headers = dict(exchange.request_headers)
    assert [headers[name] for name in ("Host", "webhook-id", "Content-Length")] == ["shop.example", str(job.id), "2"]
    assert headers["delayhub-due-at"] == "1970-01-01T00:00:01.000+00:00"
    assert "webhook-signature: <SECRET>" in exchange.curl


def test_an_attempt_of_a_task_has_no_exchange(job: Job, admin_user: Any) -> None:
    store_attempt(job, 1, error="ValueError: no")

    assert timeline(job, admin_user).events[1].exchange is None


@pytest.mark.parametrize(
    ("status", "text", "kind"),
    [
        (Status.PENDING, "next: attempt 3", "next"),
        (Status.RUNNING, "running", "next"),
        (Status.SUCCEEDED, "succeeded", "ok"),
        (Status.CANCELLED, "cancelled", ""),
    ],
)
def test_the_last_point_is_how_the_job_stands(job: Job, admin_user: Any, status: Status, text: str, kind: str) -> None:
    Job.objects.filter(id=job.id).update(status=status)

    last = timeline(job, admin_user).events[-1]

    assert (last.text, last.kind) == (text, kind)
