"""How many jobs may go in a turn, and when each of them starts."""

from __future__ import annotations

import pytest

from tasksapp.operations.cursor import Walk
from tasksapp.operations.feed import ALL, MOST_CREDIT_MS, Allowance, allowance

NOW = 1_000_000.0


def test_jobs_start_evenly_within_the_time_that_is_looked_ahead() -> None:
    allowed = allowance(Walk(biz_type=1), pace=10, now_ms=NOW, ahead_ms=1_500)

    assert allowed == Allowance(16, NOW, 100.0)
    assert allowed.times(3) == [NOW, NOW + 100, NOW + 200]
    assert allowed.after(3) == Allowance(13, NOW + 300, 100.0)


def test_the_next_turn_goes_on_where_this_one_ended() -> None:
    walk = Walk(biz_type=1, last_at=NOW + 1_500)

    assert allowance(walk, pace=10, now_ms=NOW + 1_000, ahead_ms=1_500) == Allowance(10, NOW + 1_600, 100.0)


@pytest.mark.parametrize(
    ("passed_ms", "jobs"),
    [
        (0, 0),  # the job of this hour went already
        (3_598_600, 1),  # the next one starts within what is looked ahead
        (3_600_000 * 5, 1),  # no job makes up for the hours without a turn
    ],
)
def test_a_slow_pace_lets_one_job_go_at_its_time(passed_ms: float, jobs: int) -> None:
    walk = Walk(biz_type=1, last_at=NOW)

    assert allowance(walk, pace=1 / 3_600, now_ms=NOW + passed_ms, ahead_ms=1_500).jobs == jobs


def test_a_faster_pace_holds_at_once() -> None:
    walk = Walk(biz_type=1, last_at=NOW)

    assert allowance(walk, pace=100, now_ms=NOW + 1_000, ahead_ms=1_000).jobs == 101


def test_verbs_that_start_nothing_make_up_for_two_seconds_without_a_turn() -> None:
    walk = Walk(biz_type=1, last_at=NOW)

    allowed = allowance(walk, pace=10, now_ms=NOW + 60_000)

    assert allowed.jobs == MOST_CREDIT_MS / 1000 * 10 + 1
    assert allowed.times(5) == []


def test_rescheduled_jobs_all_change_now_and_start_at_the_pace() -> None:
    due = NOW + 86_400_000

    assert allowance(Walk(biz_type=1), pace=2, now_ms=NOW, due_ms=due) == Allowance(ALL, due, 500.0)
    assert allowance(Walk(biz_type=1, last_at=due + 500), pace=2, now_ms=NOW, due_ms=due).first_at == due + 1_000
    assert allowance(Walk(biz_type=1), pace=None, now_ms=NOW, due_ms=due).times(2) == [due, due]


def test_without_a_pace_all_go() -> None:
    assert allowance(Walk(biz_type=1), pace=None, now_ms=NOW) == Allowance(ALL)
