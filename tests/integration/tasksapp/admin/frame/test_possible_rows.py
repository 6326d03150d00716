"""Rows are chosen and searched for by what a row can have; anything else is refused or finds nothing."""

from __future__ import annotations

import pytest
from django.test import Client
from django.urls import reverse

from tasksapp.models import BizType, Status
from tests.job_rows import store_job

pytestmark = pytest.mark.django_db

#: An action of each list.
ACTIONS = [("job", "cancel"), ("job", "reschedule"), ("biztype", "pause"), ("biztype", "delete_selected")]


@pytest.mark.parametrize("chosen", ["x", "\0", "9" * 40, str(2**63)])
@pytest.mark.parametrize(("model", "action"), [*ACTIONS, ("apikey", "delete_selected")])
def test_an_action_on_what_is_no_id_is_refused(
    person: Client, biz_type: BizType, model: str, action: str, chosen: str
) -> None:
    answer = person.post(
        reverse(f"admin:tasksapp_{model}_changelist"), {"action": action, "_selected_action": [chosen]}
    )

    assert answer.status_code == 400


def test_one_bad_id_among_good_ones_changes_nothing(person: Client, biz_type: BizType) -> None:
    job = store_job(biz_type, Status.PENDING)

    answer = person.post(
        reverse("admin:tasksapp_job_changelist"), {"action": "cancel", "_selected_action": [job.pk, "x"]}
    )

    job.refresh_from_db()
    assert (answer.status_code, job.status) == (400, Status.PENDING)


@pytest.mark.parametrize("model", ["biztype", "apikey"])
def test_a_search_for_endless_text_finds_nothing(person: Client, biz_type: BizType, model: str) -> None:
    answer = person.get(reverse(f"admin:tasksapp_{model}_changelist"), {"q": "x" * 100_000})

    assert answer.status_code == 200
    assert list(answer.context["cl"].result_list) == []


def test_the_list_of_jobs_refuses_a_search_for_endless_text(person: Client, biz_type: BizType) -> None:
    store_job(biz_type)

    answer = person.get(reverse("admin:tasksapp_job_changelist"), {"q": "x" * 100_000})

    assert answer.status_code == 400
    assert "too long" in answer.context["problem"]
    assert answer.context["rows"] == []
