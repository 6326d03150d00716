"""What the page of an operation shows, by its state."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import RequestFactory
from django.utils import timezone

from tasksapp.admin.operations.forms import StartForm
from tasksapp.admin.operations.view import OperationView, pace_words, trial_words
from tasksapp.models import BizType, Operation
from tasksapp.operations import progress
from tests.fixture_types import MakeBizType
from tests.integration.tasksapp.operation_runs import dead_jobs, planned

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def view(admin_user: Any) -> Any:
    """Makes the view of an operation."""
    request = RequestFactory().get("/admin/")
    request.user = admin_user
    return lambda operation: OperationView(request, operation, site="admin")


def running(biz_type: BizType, **fields: Any) -> Operation:
    values = {"verb": "redrive", "state": "running", "job_filter": {}, "planned": 10, "started_at": timezone.now()}
    return Operation.objects.create(biz_type=biz_type, **{**values, **fields})


@pytest.mark.parametrize(
    ("state", "step"), [("planning", 1), ("planned", 1), ("running", 2), ("done", 3), ("stopped", 3), ("failed", 3)]
)
def test_each_state_belongs_to_a_step(view: Any, biz_type: BizType, state: str, step: int) -> None:
    assert view(running(biz_type, state=state)).context()["step"] == step


def test_the_numbers_add_up(view: Any, biz_type: BizType) -> None:
    context = view(running(biz_type, planned=44_667, done=12_300, succeeded=12_200, dead=59)).context()

    assert (context["of"], context["open_jobs"]) == ("12,300 of 44,667", "41")
    assert context["bar"] == {"value": 12_300, "max": 44_667, "percent": "28 %"}


def test_more_jobs_than_planned_do_not_burst_the_bar(view: Any, biz_type: BizType) -> None:
    assert view(running(biz_type, planned=0, done=3)).context()["bar"]["max"] == 3


def test_what_holds_the_jobs_is_found_for_all_biz_types_of_the_plan(
    view: Any, biz_type: BizType, make_biz_type: MakeBizType
) -> None:
    dead_jobs(biz_type, 1)
    dead_jobs(make_biz_type("off", enabled=False), 1)

    sentences = view(planned()).context()["hindrances"]

    assert any("off is disabled" in sentence for sentence in sentences)


def test_the_end_follows_what_was_typed(view: Any, biz_type: BizType) -> None:
    operation = running(biz_type, state="planned", planned=3_600)
    typed = StartForm(operation, {"pace": "rate", "rate": "2", "minutes": "", "trial_jobs": "x"})
    typed.is_valid()

    assert "2 a second" in view(operation).forms({"start_form": typed})["finish"]
    assert "10 a second" in view(operation).forms({})["finish"]


@pytest.mark.parametrize(
    ("trial", "words"),
    [
        ("running", "goes on if 90 % of them succeed"),
        ("passed", "enough of them succeeded, so it went on"),
        ("failed", "less than 90 % of them succeeded, so it stopped"),
        (None, ""),
    ],
)
def test_the_trial_is_said_in_words(biz_type: BizType, trial: str | None, words: str) -> None:
    operation = running(biz_type, trial_jobs=10, cursor={"trial": trial})

    assert words in trial_words(operation, progress(operation))


def test_the_pace_is_said_in_words() -> None:
    assert pace_words(Operation(rate_per_second=74.44)) == "74.4 a second"
    assert pace_words(Operation()) == "as fast as possible"
