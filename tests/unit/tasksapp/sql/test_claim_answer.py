"""A claim answers for every id: it is ours, or the reason why not is named."""

from __future__ import annotations

from dataclasses import fields
from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest

from tasksapp.models import Status
from tasksapp.sql.claim_answer import ClaimAnswer, Left
from tests.claimed_jobs import claimed_job

NOW = datetime(2026, 1, 1, tzinfo=UTC)
LATER = NOW + timedelta(seconds=1)
JOB = UUID(int=7)


@pytest.fixture
def answer() -> ClaimAnswer:
    return ClaimAnswer(token=5)


def test_a_row_that_runs_now_is_claimed(answer: ClaimAnswer) -> None:
    answer.add_taken(claimed_job(), status=Status.RUNNING)

    assert answer.claimed == [claimed_job()]


def test_a_row_that_still_waits_was_marked_as_under_way_to_its_task(answer: ClaimAnswer) -> None:
    answer.add_taken(claimed_job(), status=Status.PENDING)

    assert (answer.forwarded, answer.claimed) == ([claimed_job()], [])


@pytest.mark.parametrize("status", [Status.SKIPPED, Status.DEAD])
def test_a_row_that_was_too_late_or_too_old_has_ended(status: Status, answer: ClaimAnswer) -> None:
    answer.add_taken(claimed_job(), status=status)

    assert answer.ended == [claimed_job().id]


@pytest.mark.parametrize(
    ("left", "name", "noted"),
    [
        (Left.GONE, "gone", JOB),
        (Left.NOT_DUE, "not_due", (JOB, NOW)),
        (Left.SHUT, "shut", JOB),
        (Left.LOCKED, "locked", JOB),
    ],
)
def test_a_row_that_was_left_is_named_with_the_reason(
    left: Left, name: str, noted: object, answer: ClaimAnswer
) -> None:
    answer.add_left(JOB, left, next_run_at=NOW)

    lists = {each.name: getattr(answer, each.name) for each in fields(answer)[1:]}
    assert {each: found for each, found in lists.items() if found} == {name: [noted]}


def test_a_row_that_a_rule_left_is_noted_by_the_name_of_the_rule(answer: ClaimAnswer) -> None:
    other = ClaimAnswer(token=5)
    answer.add_left(JOB, "stock", next_run_at=NOW)
    other.add_left(UUID(int=8), "stock", next_run_at=NOW)

    answer.add(other)

    assert answer.left == {"stock": [JOB, UUID(int=8)]}


def test_ids_of_which_nothing_is_known_are_gone(answer: ClaimAnswer) -> None:
    known, left, unknown = claimed_job().id, UUID(int=8), UUID(int=9)
    answer.add_taken(claimed_job(), status=Status.RUNNING)
    answer.add_left(left, Left.NOT_DUE, next_run_at=LATER)

    answer.add_missing([known, left, unknown])

    assert answer.gone == [unknown]
