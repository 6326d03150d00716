"""Actions on the jobs that a person chose."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from django.test import Client
from django.urls import reverse

from tasksapp.models import UNTIL_RESUMED, BizType, Job, Status
from tests.fixture_types import MakeBizType
from tests.job_rows import store_job

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

    answer = person.post(reverse(JOBS), {"action": action, "_selected_action": [chosen.pk, left.pk]}, follow=True)

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


def test_a_person_reads_that_redis_does_not_answer(person: Client, biz_type: BizType) -> None:
    (told,) = told_after(person, "run_now", [store_job(biz_type)])

    assert "held: Redis does not answer" in told


def test_cancelling_says_nothing_of_what_holds_a_job(person: Client, biz_type: BizType) -> None:
    assert told_after(person, "cancel", [store_job(biz_type)]) == ["1 job cancelled."]
