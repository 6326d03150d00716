"""Actions on the jobs that a person chose."""

from __future__ import annotations

import pytest
from django.test import Client
from django.urls import reverse

from tasksapp.models import BizType, Status
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
