"""How many lines a log gets within some seconds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import pytest

from tasksapp.jobs.job_log import MOST, MOST_OF_KIND, LineBudget
from tests.standing_clock import StandingClock
from tests.waiting import wait_until


@dataclass
class Added:
    """What was added up."""

    sums: list[dict[tuple[str, ...], int]] = field(default_factory=list)

    def __call__(self, beyond: Mapping[tuple[str, ...], int]) -> None:
        self.sums.append(dict(beyond))


@pytest.fixture
def clock() -> StandingClock:
    return StandingClock()


@pytest.fixture
def added() -> Added:
    return Added()


@pytest.fixture
def budget(added: Added, clock: StandingClock) -> LineBudget:
    return LineBudget(added, window_seconds=60, clock=clock)


def test_the_first_lines_of_a_kind_are_written_and_the_others_added_up(budget: LineBudget, added: Added) -> None:
    taken = [budget.takes("failed a", f"http.50{number % 2}") for number in range(1_000)]

    budget.close_window()

    assert sum(taken) == MOST_OF_KIND
    assert added.sums == [{("failed a", "http.500"): 495, ("failed a", "http.501"): 495}]


def test_kinds_do_not_take_each_others_lines_but_all_have_a_bound(budget: LineBudget) -> None:
    taken = [budget.takes(f"kind {number}") for number in range(1_000)]

    assert taken == [True] * MOST + [False] * (1_000 - MOST)


def test_after_the_window_lines_are_written_again(budget: LineBudget, clock: StandingClock) -> None:
    for _ in range(MOST_OF_KIND):
        assert budget.takes("failed a")

    clock.seconds += 61

    assert budget.takes("failed a")


def test_nothing_is_added_up_where_all_had_lines(budget: LineBudget, added: Added) -> None:
    budget.takes("failed a")

    budget.close_window()

    assert added.sums == []


def test_what_is_beyond_is_added_up_when_the_window_ends_without_another_line(added: Added) -> None:
    budget = LineBudget(added, window_seconds=0.05)
    for _ in range(MOST_OF_KIND + 3):
        budget.takes("failed a")

    wait_until(lambda: added.sums)

    assert added.sums == [{("failed a",): 3}]
