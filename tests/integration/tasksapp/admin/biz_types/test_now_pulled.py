"""What the admin shows of a biz type whose jobs are pulled, and of its jobs."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from tasksapp.jobs.attempt_headers import CLAIM
from tasksapp.models import Attempt, BizType, JobCount, Status
from tests.fixture_types import MakeBizType
from tests.job_rows import store_job

pytestmark = pytest.mark.django_db


@pytest.fixture
def browser(client: Client, admin_user: Any) -> Client:
    client.force_login(admin_user)
    return client


@pytest.fixture
def pulled(make_biz_type: MakeBizType) -> BizType:
    """A biz type with a due job, for which no puller has ever asked."""
    biz_type = make_biz_type("report", url="", target="pull", timeout_seconds=30)
    now = timezone.now()
    oldest = now - timedelta(minutes=9)
    JobCount.objects.create(biz_type=biz_type, pending=1, due_now=1, running=0, dead=0, counted_at=now,
                            oldest_due_at=oldest, next_due_at=now)  # fmt: skip
    return biz_type


@pytest.mark.parametrize(
    ("page", "shown", "hidden"),
    [
        (
            "tasksapp_biztype_change",
            ["no puller asks for its jobs", "pullers, which claim its jobs over HTTP", "A claim lasts"],
            ["/test/", "Lane", "not signed", "done at"],
        ),
        ("tasksapp_biztype_change?tab=limits", ['name="max_in_flight"'], ['name="weight"']),
        ("tasksapp_biztype_change?tab=retries", ['name="max_attempts"'], ['name="permanent_status_codes"']),
        ("tasksapp_biztype_change?tab=general", ['name="retention"'], ['name="lane"']),
        ("tasksapp_biztype_change?tab=target", ['value="pull" selected', 'name="timeout_seconds"'], []),
        ("tasksapp_biztype_test", ["There is nothing to call"], ["Send test"]),
        ("tasksapp_biztype_secrets", ["The jobs of this biz type are pulled"], []),
        ("tasksapp_biztype_changelist", ["no puller asks for its jobs", "<span>pullers</span>"], ["unsigned"]),
        ("index", ["no puller asks for its jobs", "pullers"], []),
    ],
)
def test_a_page_shows_what_a_pulled_biz_type_has_and_nothing_of_callbacks(
    browser: Client, pulled: BizType, page: str, shown: list[str], hidden: list[str]
) -> None:
    name, _, query = page.partition("?")
    arguments = [pulled.pk] if name.startswith("tasksapp_biztype_") and name != "tasksapp_biztype_changelist" else []
    with CaptureQueriesContext(
        connection,
    ) as asked:
        text = browser.get(f"{reverse(f'admin:{name}', args=arguments)}?{query}").content.decode()

    assert [each for each in shown if each not in text] == []
    assert [each for each in hidden if each in text] == []
    assert len(asked) <= 16


def test_the_page_of_a_job_says_who_pulled_it_and_by_which_request_that_ended(browser: Client, pulled: BizType) -> None:
    now = timezone.now()
    job = store_job(pulled, Status.SUCCEEDED, due_in=-timedelta(minutes=1), attempts=1, finished_at=now)
    Attempt.objects.create(
        job_id=job.pk, number=1, started_at=now, duration_ms=12_000, lateness_ms=5, worker="api:reporter", error="",
        request_line="pulled by api:reporter", request_headers={CLAIM: "0f3c"},
        response_headers={"X-Request-Id": "req-7"}, response_body="built",
    )  # fmt: skip

    text = browser.get(reverse("admin:tasksapp_job_change", args=[job.pk])).content.decode()

    for shown in ("late, by api:reporter", "Pulled by", "<code>req-7</code>", "Note of the puller", "built"):
        assert shown in text, shown
    for hidden in ("curl", "There was no response", "0f3c"):
        assert hidden not in text, hidden
