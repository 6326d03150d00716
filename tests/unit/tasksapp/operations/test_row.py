"""How large the pages of operations are, as learned from the time that they take."""

from __future__ import annotations

from delayhub.testing import MovableClock
from tasksapp.operations.row import PageSize


def page(size: PageSize, clock: MovableClock, *, seconds: float, changed: int) -> int:
    """The batch after a page that took so long and changed so many."""
    with size.measured():
        clock.advance(seconds=seconds)
    size.judge_batch(changed)
    return size.batch


def test_full_pages_that_are_fast_grow_up_to_a_limit() -> None:
    clock = MovableClock()
    size = PageSize(clock)

    assert [page(size, clock, seconds=0, changed=size.batch) for _ in range(4)] == [500, 1_000, 1_000, 1_000]


def test_a_page_that_took_long_shrinks_to_what_fits_at_once() -> None:
    clock = MovableClock()
    size = PageSize(clock)

    assert page(size, clock, seconds=2, changed=250) in range(20, 26)
    assert page(size, clock, seconds=60, changed=20) == PageSize.LEAST_BATCH


def test_pages_that_change_few_jobs_say_nothing_about_many() -> None:
    clock = MovableClock()
    size = PageSize(clock)

    for _ in range(10):
        assert page(size, clock, seconds=0, changed=5) == PageSize.FIRST_BATCH
