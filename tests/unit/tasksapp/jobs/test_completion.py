"""What a job becomes after an attempt."""

from __future__ import annotations

from datetime import timedelta
from functools import partial
from typing import Any

import pytest

from tasksapp.jobs import completion
from tasksapp.jobs.running_job import RunningJob
from tasksapp.models import BizType, Status
from tasksapp.sql.finished import Tried
from tests.claimed_jobs import CLAIMED_AT, claimed_job
from tests.outcomes import tried

NOW = CLAIMED_AT
TOKEN = 77


def biz_type(**fields: Any) -> BizType:
    settings = {"max_attempts": 3, "backoff": "fixed", "backoff_min_seconds": 10, "jitter": 0, **fields}
    return BizType(id=1, code="order.close", **settings)


def running(kind: BizType | None = None, **fields: Any) -> RunningJob:
    """A claimed job, of a biz type and with columns as given."""
    return RunningJob(claimed_job(**fields), kind or biz_type(), TOKEN)


def failed_attempt(number: int, error: str = "503") -> Tried:
    return tried(number, status_code=503, error=error)


def test_a_success_counts_its_attempt() -> None:
    finished = completion.succeeded(running(), tried=tried())

    assert (finished.status, finished.token, finished.counted) == (Status.SUCCEEDED, TOKEN, 1)
    assert (finished.next_run_at, finished.last_error, finished.system_errors) == (None, "", 0)


@pytest.mark.parametrize(
    ("attempts", "attempt_base", "status"),
    [
        # the first and the second of three
        (0, 0, Status.PENDING),
        (1, 0, Status.PENDING),
        # the last
        (2, 0, Status.DEAD),
        # after a redrive the budget is new
        (3, 3, Status.PENDING),
        (5, 3, Status.DEAD),
    ],
)
def test_a_failure_is_tried_again_while_there_are_attempts(attempts: int, attempt_base: int, status: Status) -> None:
    job = running(attempts=attempts, attempt_base=attempt_base)

    finished = completion.failed(job, tried=failed_attempt(attempts + 1), error_class="http.503", now=NOW)

    assert finished.status == status
    assert finished.next_run_at == (NOW + timedelta(seconds=10) if status == Status.PENDING else None)
    assert finished.counted == 1


def test_a_receiver_can_ask_for_time_and_a_task_can_take_it() -> None:
    fail = partial(completion.failed, running(), tried=failed_attempt(1), error_class="http.503", now=NOW)

    asked = fail(retry_after_seconds=60)
    chosen = fail(task_wait_seconds=2)

    assert asked.next_run_at == NOW + timedelta(seconds=60)
    assert chosen.next_run_at == NOW + timedelta(seconds=2)


def test_the_age_counts_from_the_redrive() -> None:
    aging = biz_type(max_age=timedelta(minutes=5))
    long_due = running(aging, due_at=NOW - timedelta(days=1))
    redriven = running(aging, due_at=NOW - timedelta(days=1), redriven_at=NOW)

    fail = partial(completion.failed, tried=failed_attempt(1), error_class="http.503", now=NOW)

    assert fail(long_due).status == Status.DEAD
    assert fail(redriven).status == Status.PENDING


def test_what_may_happen_once_is_tried_again_only_if_nothing_was_sent() -> None:
    job = running(biz_type(guarantee="at_most_once"), attempts=1)  # the claim counted it

    sent = completion.failed(job, tried=failed_attempt(1, "reset"), error_class="reset", now=NOW)
    unsent = completion.failed(job, tried=failed_attempt(1, "refused"), error_class="refused", now=NOW, unsent=True)

    assert job.attempt_number == 1
    assert (sent.status, sent.counted) == (Status.DEAD, 0)
    assert sent.last_error == "reset; not tried again, since it may happen at most once"
    assert (unsent.status, unsent.counted) == (Status.PENDING, 0)


@pytest.mark.parametrize(("guarantee", "counted"), [("at_least_once", 0), ("at_most_once", -1)])
def test_a_job_that_is_given_back_has_used_no_attempt(guarantee: str, counted: int) -> None:
    back = completion.given_back(running(biz_type(guarantee=guarantee), attempts=1), reason="shutting down")

    assert (back.status, back.counted, back.system_errors, back.tried) == (Status.PENDING, counted, 0, None)


def test_an_error_on_our_side_is_counted_apart() -> None:
    back = completion.given_back(running(), reason="no memory", at=NOW, system_error=True)

    assert (back.counted, back.system_errors, back.next_run_at) == (0, 1, NOW)


def test_too_many_faults_of_ours_are_the_end(settings: Any) -> None:
    settings.DELAYHUB = {"MAX_SYSTEM_ERRORS": 3}

    again = completion.given_back(running(system_errors=1), reason="no memory", system_error=True)
    dead = completion.given_back(running(system_errors=2), reason="no memory", system_error=True)
    returned = completion.given_back(running(system_errors=2), reason="shutting down")

    assert (again.status, again.system_errors) == (Status.PENDING, 1)
    assert (dead.status, dead.system_errors, dead.counted) == (Status.DEAD, 1, 0)
    assert dead.last_error == "too many faults on our side; the last: no memory"
    assert returned.status == Status.PENDING


def test_a_reason_fits_its_column() -> None:
    long = failed_attempt(1, "x" * 9_000)

    assert len(completion.failed(running(), tried=long, error_class="http.503", now=NOW).last_error) == 500
    assert len(completion.gave_up(running(), tried=long, reason="y" * 9_000, error_class="").last_error) == 500


@pytest.mark.parametrize(
    ("status_code", "error_class", "kept"),
    [
        # an answer says how it went
        (503, "http.503", "http.503"),
        # without one the receiver may have done it
        (None, "timeout", "outcome_unknown"),
        (None, "reset", "outcome_unknown"),
        # a task that raised has said how it went
        (None, "task.ValueError", "task.ValueError"),
    ],
)
def test_of_what_may_happen_once_the_outcome_is_unknown_without_an_answer(
    status_code: int | None, error_class: str, kept: str
) -> None:
    job = running(biz_type(guarantee="at_most_once"), attempts=1)
    attempt = tried(1, status_code=status_code, error="why")

    dead = completion.failed(job, tried=attempt, error_class=error_class, now=NOW)

    assert (dead.status, dead.error_class) == (Status.DEAD, kept)


def test_a_job_that_gives_up_keeps_the_kind_of_its_last_failure() -> None:
    last = completion.failed(running(attempts=2), tried=failed_attempt(3), error_class="http.503", now=NOW)
    again = completion.failed(running(), tried=failed_attempt(1), error_class="refused", now=NOW)

    assert (last.status, last.error_class) == (Status.DEAD, "http.503")
    assert (again.status, again.error_class) == (Status.PENDING, "refused")
    assert completion.given_back(running(), reason="full").error_class == "returned"
    assert completion.given_back(running(), reason="no memory", system_error=True).error_class == "system"
    assert completion.succeeded(running(), tried=tried()).error_class == ""
