"""The figures of a run."""

from __future__ import annotations

from typing import Any

from proof.faults.figures import figures


def of(due: dict[int, float], ran: list[tuple[int, float]], **given: Any) -> dict[str, Any]:
    told: dict[str, Any] = {"cancelled": {}, "left": 0, "restarted": 0, "healed": 0, **given}
    return figures(due, ran, **told)


def test_what_never_ran_is_stuck_as_far_as_it_is_still_there_and_lost_beyond() -> None:
    found = of({1: 5.0, 2: 5.0, 3: 5.0}, [(1, 5.5)], left=1)

    assert (found["items"], found["lost"], found["stuck"], found["worst_s"]) == (3, 1, 1, 0.5)


def test_a_loss_that_breaks_no_promise_is_counted_but_not_among_those_that_do() -> None:
    found = of({1: 5.0, 2: 5.0, 3: 5.0}, [(1, 5.5)], may_be_lost={1, 2})

    assert (found["lost"], found["lost_promised"]) == (2, 1)


def test_runs_before_the_due_time_are_early_and_those_after_the_first_are_twice() -> None:
    found = of({1: 5.0, 2: 5.0}, [(1, 4.9), (2, 5.0), (2, 6.0), (2, 7.0)])

    assert (found["early"], found["twice"], found["lost"]) == (1, 2, 0)


def test_only_a_run_after_the_confirmed_cancel_counts() -> None:
    found = of({}, [(1, 4.0), (2, 6.0)], cancelled={1: 5.0, 2: 5.0, 3: 5.0})

    assert (found["cancelled"], found["after_cancel"], found["early"]) == (3, 1, 0)
