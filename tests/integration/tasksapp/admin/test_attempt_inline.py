"""The attempts on a job's page: the last ones, the newest first, for reading only."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from tasksapp.admin import attempt_inline
from tasksapp.models import Attempt, BizType, Job, Status
from tests.job_rows import store_job

pytestmark = pytest.mark.django_db


@pytest.fixture
def job(biz_type: BizType) -> Job:
    return store_job(biz_type, Status.DEAD)


def add_attempt(job: Job, number: int, **fields: Any) -> None:
    started_at = datetime(2026, 1, 2, 3, 4, number, tzinfo=UTC)
    Attempt.objects.create(job=job, number=number, started_at=started_at, duration_ms=7, lateness_ms=2, **fields)


def page_of(job: Job, person: Client) -> str:
    return person.get(reverse("admin:tasksapp_job_change", args=[job.pk])).content.decode()


def test_an_attempt_shows_what_was_answered_or_what_went_wrong(job: Job, person: Client) -> None:
    add_attempt(job, 1, status_code=503, error="the receiver answered 503", worker="w1", response_body="<b>busy</b>")
    add_attempt(job, 2, status_code=204)
    add_attempt(job, 3)

    page = page_of(job, person)

    assert "the receiver answered 503" in page
    assert "&lt;b&gt;busy&lt;/b&gt;" in page
    assert ">204<" in page
    assert ">done<" in page
    assert "2026-01-02 03:04:01" in page


def test_the_last_ones_are_shown_the_newest_first(job: Job, person: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attempt_inline, "SHOWN", 3)
    for number in range(1, 6):
        add_attempt(job, number, worker=f"worker-{number}")

    page = page_of(job, person)

    places = [page.find(f"worker-{number}") for number in (5, 4, 3)]
    assert places == sorted(places)
    assert -1 not in places
    assert "worker-2" not in page


def test_attempts_are_neither_added_nor_deleted_by_hand(job: Job, person: Client) -> None:
    add_attempt(job, 1)

    page = page_of(job, person)

    assert 'name="attempt_log-MAX_NUM_FORMS" value="0"' in page
    assert "attempt_log-0-DELETE" not in page
