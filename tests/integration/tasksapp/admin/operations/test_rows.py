"""Operations as lines of the history."""

from __future__ import annotations

from typing import Any

import pytest
from django.utils import timezone

from tasksapp.admin.frame.fragments import DASH
from tasksapp.admin.operations.rows import OperationRow, jobs_address, list_address, state_badge
from tasksapp.jobs.job_filter import JobFilter
from tasksapp.models import Operation

JOBS = "/admin/tasksapp/job/"


def row(**fields: Any) -> OperationRow:
    operation = Operation(pk=17, created_at=timezone.now(), **{"verb": "redrive", "job_filter": {}, **fields})
    return OperationRow.of(operation, site="admin")


def test_numbers_that_do_not_apply_are_dashes() -> None:
    counted = {"planned": 44_667, "done": 12_300, "succeeded": 12_241, "dead": 59, "started_at": timezone.now()}

    run, plan, cancel = row(**counted), row(planned=44_667), row(**{**counted, "verb": "cancel"})

    assert (run.planned, run.done, run.left, run.succeeded, run.dead) == ("44,667", "12,300", "0", "12,241", "59")
    assert (plan.planned, plan.done, plan.left, plan.succeeded, plan.dead) == ("44,667", *[DASH] * 4)
    assert (cancel.done, cancel.succeeded, cancel.dead) == ("12,300", DASH, DASH)


def test_only_an_operation_that_changed_jobs_leads_to_them() -> None:
    assert row(done=1, started_at=timezone.now()).jobs_url == f"{JOBS}?operation=17"
    assert row().jobs_url == ""
    assert jobs_address(Operation(pk=17), site="admin", status="dead") == f"{JOBS}?operation=17&status=dead"


def test_the_list_of_the_jobs_that_are_meant_has_their_status() -> None:
    given = JobFilter(biz_type="order.close")

    assert list_address("redrive", given, site="admin") == f"{JOBS}?status=dead&biz_type=order.close"
    assert list_address("cancel", JobFilter(), site="admin") == f"{JOBS}?status=pending"


def test_the_filter_stands_in_the_title_and_below_it() -> None:
    found = row(job_filter={"biz_type": "order.close", "biz_id": "A-1"})

    assert (found.title, found.conditions) == ("Redrive dead jobs of order.close", ["biz id is “A-1”"])


@pytest.mark.parametrize("state", Operation.State.values)
def test_each_state_is_a_badge(state: str) -> None:
    assert str(Operation.State(state).label) in state_badge(Operation(state=state))
