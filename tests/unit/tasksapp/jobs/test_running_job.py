"""A job that this process runs: the length of its lease, and the number of its attempt."""

from __future__ import annotations

from typing import Any

import pytest

from tasksapp.jobs.running_job import RunningJob
from tasksapp.models import BizType
from tests.claimed_jobs import claimed_job


def running(*, guarantee: str = "at_least_once", timeout_seconds: float = 5.0, **row: Any) -> RunningJob:
    biz_type = BizType(code="order.close", guarantee=guarantee, timeout_seconds=timeout_seconds)
    return RunningJob(claimed_job(**row), biz_type, token=7)


def test_its_id_is_its_rows() -> None:
    assert running().id == claimed_job().id


def test_a_lease_lasts_for_the_timeout_and_more(settings: Any) -> None:
    settings.DELAYHUB = {"LEASE_SECONDS": 60}

    assert running(timeout_seconds=5.0).lease_seconds == 65.0


@pytest.mark.parametrize(
    ("guarantee", "attempts", "number"),
    [
        # the attempt under way is one more than those that were made
        ("at_least_once", 0, 1),
        ("at_least_once", 4, 5),
        # the claim has counted it already: it may not happen twice
        ("at_most_once", 1, 1),
    ],
)
def test_the_attempt_under_way_has_a_number(guarantee: str, attempts: int, number: int) -> None:
    job = running(guarantee=guarantee, attempts=attempts)

    assert job.attempt_number == number
    assert job.counted_at_claim == (guarantee == "at_most_once")


def test_after_a_redrive_the_budget_counts_from_one_and_numbers_go_on() -> None:
    job = running(attempts=5, attempt_base=5)

    assert (job.attempt_number, job.attempt_of_budget) == (6, 1)
