"""Entries: which ids, times and priority steps can be stored."""

from __future__ import annotations

import pytest

from delayhub.engine import Entry
from delayhub.engine.entry import MAX_DUE_MS, check_timers
from delayhub.errors import EntryError


@pytest.mark.parametrize(
    ("entry_id", "due", "message"),
    [
        ("", 0, "needs an id"),
        ("x" * 513, 0, "may have 512 bytes, got 513"),
        # bytes count, not characters
        ("☃" * 171, 0, "may have 512 bytes, got 513"),
        ("x", MAX_DUE_MS + 1, "due_ms may be"),
    ],
)
def test_an_entry_that_cannot_be_stored_is_refused(entry_id: str, due: int, message: str) -> None:
    with pytest.raises(EntryError, match=message):
        Entry(entry_id, due)


@pytest.mark.parametrize(
    ("timers", "step", "message"),
    [
        ([("a", 0), ("", 0)], 0, "needs an id"),
        ([("a", 0), ("☃" * 171, 0)], 0, "may have 512 bytes, got 513"),
        ([("a", 0), ("b", MAX_DUE_MS + 1)], 0, "due_ms may be"),
        ([("a", 0)], 10, "step may be 0 to 9, got 10"),
    ],
)
def test_one_timer_of_many_that_cannot_be_stored_is_refused(
    timers: list[tuple[str, int]], step: int, message: str
) -> None:
    with pytest.raises(EntryError, match=message):
        check_timers(timers, step)


def test_many_timers_that_can_be_stored_are_taken() -> None:
    check_timers([("a", 0), ("☃" * 170, MAX_DUE_MS)], 9)
    check_timers([], 0)


@pytest.mark.parametrize("step", [-1, 10])
def test_a_priority_step_that_no_claim_would_look_at_is_refused(step: int) -> None:
    with pytest.raises(EntryError, match=f"step may be 0 to 9, got {step}"):
        Entry("x", step=step)


def test_the_longest_id_and_the_latest_time_are_taken() -> None:
    assert Entry("x" * 512, MAX_DUE_MS).due_ms == MAX_DUE_MS
