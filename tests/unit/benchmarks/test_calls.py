"""Counts of calls: one more call shows, and a count that varies by itself does not."""

from __future__ import annotations

from typing import Any

import pytest

from benchmarks.call_counter import CallCounter
from benchmarks.calls import changes, growth, kept, least
from delayhub.engine import SystemClock

COUNTS = {"python": 66.0, "c": 70.0, "total": 270.0, "sends": 0.04}


def test_one_call_of_ours_is_counted_as_one_of_python_and_its_c_calls_as_c() -> None:
    clock = SystemClock()

    with CallCounter() as counter:
        once, thrice = counter.of(clock.now_ms), counter.of(lambda: [clock.now_ms() for _ in range(3)])

    assert (once.python, once.c) == (1, 1)
    assert (thrice.python, thrice.c) == (3, 3)


def test_threads_that_start_inside_are_counted_too() -> None:
    from threading import Thread

    def in_a_thread() -> None:
        thread = Thread(target=SystemClock().now_ms)
        thread.start()
        thread.join()

    with CallCounter() as counter:
        seen = counter.of(in_a_thread)

    assert seen.python == 1


@pytest.mark.parametrize(
    ("path", "change", "said"),
    [
        # A count of claims that fell differently.
        ("plain task", {"python": 66.9}, []),
        # One function more.
        ("plain task", {"python": 67.1}, ["plain task: python grew from 66 to 67.1"]),
        # A floor that is not written down would let the path grow back.
        ("plain task", {"c": 60.0}, ["plain task: c fell from 70 to 60"]),
        # Depends on when claims happen.
        ("plain task, prefetch 4", {"python": 107.0}, []),
        ("limited task", {"python": 70.0}, []),
        ("limited task", {"python": 80.0}, ["limited task: python grew from 66 to 80"]),
    ],
)
def test_a_change_is_named_unless_it_is_within_what_counts_vary_by(
    path: str, change: dict[str, float], said: list[str]
) -> None:
    assert changes({path: COUNTS}, {path: {**COUNTS, **change}}) == said


def test_only_what_has_grown_is_a_fault() -> None:
    assert growth({"publish": COUNTS}, {"publish": {**COUNTS, "c": 60.0}}) == []
    assert growth({"publish": COUNTS}, {"publish": {**COUNTS, "c": 60.0, "sends": 2.0}}) == [
        "publish: sends grew from 0.04 to 2"
    ]
    assert growth({"publish": COUNTS}, {}) == ["publish is not counted any more"]


def test_a_path_that_is_new_or_gone_is_named() -> None:
    assert changes({"publish": COUNTS}, {"claim": COUNTS}) == [
        "publish is not counted any more",
        "claim was not counted before",
    ]


def test_the_least_of_several_takes_counts() -> None:
    other: dict[str, Any] = {**COUNTS, "python": 67.5, "c": 69.5}

    found = least({"publish": COUNTS, "claim": COUNTS}, {"publish": other})

    assert found == {"publish": {**COUNTS, "c": 69.5}, "claim": COUNTS}


def test_each_kept_line_says_why() -> None:
    assert kept()
    assert all(line["why"].strip() for line in kept())
