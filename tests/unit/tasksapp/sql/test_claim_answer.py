"""A claim answers for every id: it is ours, or the reason why not is named."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest

from tasksapp.models import Status
from tasksapp.sql.claim_answer import ClaimAnswer
from tests.claimed_jobs import claimed_job

NOW = datetime(2026, 1, 1, tzinfo=UTC)
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
    ("status", "late_by", "shut", "under_way", "reason"),
    [
        # due, open, and not taken: another transaction holds it
        (Status.PENDING, 1, False, False, "locked"),
        (Status.PENDING, 1, True, False, "shut"),
        # whatever its gate says, its time comes first
        (Status.PENDING, -1, True, False, "not_due"),
        # another worker's, or ended already
        (Status.PENDING, 1, False, True, "gone"),
        (Status.RUNNING, 1, False, False, "gone"),
        (Status.CANCELLED, 1, True, False, "gone"),
    ],
)
def test_a_row_that_was_left_is_named_with_the_reason(
    status: Status, late_by: int, shut: bool, under_way: bool, reason: str, answer: ClaimAnswer
) -> None:
    at = NOW - timedelta(seconds=late_by)

    answer.add_left(JOB, status=status, next_run_at=at, now=NOW, shut=shut, under_way=under_way)

    reasons = {name: getattr(answer, name) for name in ("not_due", "shut", "locked", "gone")}
    assert {name for name, found in reasons.items() if found} == {reason}
    assert reasons[reason] == [(JOB, at) if reason == "not_due" else JOB]


def test_ids_of_which_nothing_is_known_are_gone(answer: ClaimAnswer) -> None:
    known, left, unknown = claimed_job().id, UUID(int=8), UUID(int=9)
    answer.add_taken(claimed_job(), status=Status.RUNNING)
    answer.add_left(left, status=Status.PENDING, next_run_at=NOW + timedelta(1), now=NOW, shut=False, under_way=False)

    answer.add_missing([known, left, unknown])

    assert answer.gone == [unknown]
