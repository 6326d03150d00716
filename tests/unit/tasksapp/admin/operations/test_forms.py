"""The forms of an operation."""

from __future__ import annotations

from typing import Any

import pytest

from tasksapp.admin.operations.forms import RepaceForm, StartForm, StopForm, plan_form
from tasksapp.models import Operation

SPREAD = {"pace": "spread", "minutes": "10", "rate": "50"}
TRIAL = {"with_trial": "on", "trial_jobs": "10", "trial_percent": "90"}


def operation(verb: str = "redrive", planned: int = 44_667, **fields: Any) -> Operation:
    return Operation(verb=verb, planned=planned, **fields)


def started(given: dict[str, str], **fields: Any) -> StartForm:
    form = StartForm(operation(**fields), given)
    form.is_valid()
    return form


@pytest.mark.parametrize(
    ("given", "spread", "rate"),
    [
        (SPREAD, 600.0, None),
        ({**SPREAD, "pace": "rate"}, None, 50.0),
        ({**SPREAD, "pace": "at_once"}, None, None),
        ({"pace": "at_once"}, None, None),
    ],
)
def test_a_pace_is_a_time_or_a_rate_or_neither(given: dict[str, str], spread: float | None, rate: float | None) -> None:
    form = started(given)

    assert (form.errors, form.spread_seconds, form.rate_per_second) == ({}, spread, rate)


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({}, "pace"),
        ({"pace": "never"}, "pace"),
        ({"pace": "spread", "minutes": ""}, "minutes"),
        ({"pace": "spread", "minutes": "0"}, "minutes"),
        ({"pace": "spread", "minutes": "1e300"}, "minutes"),
        ({"pace": "spread", "minutes": "nan"}, "minutes"),
        ({"pace": "rate", "rate": "-1"}, "rate"),
        ({**SPREAD, "with_trial": "on", "trial_jobs": "", "trial_percent": "90"}, "trial_jobs"),
        ({**SPREAD, "with_trial": "on", "trial_jobs": "10", "trial_percent": "101"}, "trial_percent"),
        ({**SPREAD, "reason": "x" * 501}, "reason"),
    ],
)
def test_what_cannot_be_is_refused_beside_its_field(given: dict[str, str], field: str) -> None:
    assert field in started(given).errors


def test_a_trial_is_for_verbs_whose_jobs_run_at_once() -> None:
    assert started({**SPREAD, **TRIAL}).trial == (10, 90)
    assert started({**SPREAD, **TRIAL}, verb="cancel", planned=1).trial.jobs == 0
    assert started({**SPREAD, "trial_jobs": "10"}).trial.jobs == 0


@pytest.mark.parametrize("typed", ["44667", "44,667", "44 667", "44.667", "44\N{RIGHT SINGLE QUOTATION MARK}667"])
def test_the_number_may_be_typed_as_people_write_it(typed: str) -> None:
    form = started({"pace": "at_once", "typed_count": typed}, verb="drop")

    assert form.errors == {}
    assert form.cleaned_data["typed_count"] == 44_667


@pytest.mark.parametrize("typed", ["", "44666", "all", "44667.0", "٤٤٦٦٧"])
def test_cancelling_and_dropping_many_asks_for_the_number(typed: str) -> None:
    assert "typed_count" in started({"pace": "at_once", "typed_count": typed}, verb="cancel").errors


@pytest.mark.parametrize(("verb", "planned"), [("drop", 1_000), ("redrive", 44_667), ("reschedule", 44_667)])
def test_other_operations_do_not_ask_for_it(verb: str, planned: int) -> None:
    assert started({"pace": "at_once"}, verb=verb, planned=planned).errors == {}


def test_a_new_pace_begins_with_the_present_one_and_may_be_a_time() -> None:
    running = operation(rate_per_second=74.4)
    given = {"pace-pace": "spread", "pace-minutes": "2"}

    form = RepaceForm(running, given)

    assert RepaceForm(running)["rate"].value() == 74.4
    assert form.is_valid()
    assert form.rate_for(1_200) == 10.0


def test_only_jobs_that_are_moved_get_a_time() -> None:
    assert "due_at" in plan_form("reschedule").fields
    assert "due_at" not in plan_form("redrive").fields
    assert "due_at" in plan_form("reschedule", {"due_at": "2300-01-01T00:00:00"}).errors
    assert StopForm({"stop-reason": "x" * 501}).errors
