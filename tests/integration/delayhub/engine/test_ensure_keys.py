"""Timers of many flow keys are ensured by one call, as by one call for each."""

from __future__ import annotations

import pytest

from delayhub.engine import TimerLane
from delayhub.errors import EntryError
from tests.fixture_types import Now
from tests.timer_leases import leases_of


def calls(lane: TimerLane) -> int:
    """How many scripts Redis ran."""
    stats = lane.client.info("commandstats")
    return sum(stats.get(f"cmdstat_{name}", {"calls": 0})["calls"] for name in ("eval", "evalsha"))


def test_many_keys_are_one_call_and_each_has_its_timers(lane: TimerLane, now_ms: Now) -> None:
    due = now_ms() - 1_000
    timers = {"": [("own", due)]} | {f"k{n:03d}": [(f"k{n:03d}-{m}", due + m) for m in range(2)] for n in range(200)}
    before = calls(lane)

    assert lane.ensure_keys("close", timers, step=3) == ["added"] * 401
    assert calls(lane) - before <= 2, "EVALSHA, and EVAL where Redis did not know the script"

    assert [count.waiting for count in lane.count_keys("close", ["", "k000", "k199"])] == [1, 2, 2]
    taken = [name for _ in range(5) for batch in lane.claim(100).batches for name in batch.ids]
    assert sorted(taken) == sorted(name for group in timers.values() for name, _ in group)
    assert lane.queues() == ["close"]
    assert not lane.count_keys("close")


def test_keys_get_their_turns_in_the_order_given(lane: TimerLane, now_ms: Now) -> None:
    order = ["c", "a", "d", "b"]
    lane.ensure_keys("close", {key: [(key, now_ms() - 1_000)] for key in order})

    assert [lane.claim(1).batches[0].ids for _ in order] == [[key] for key in order]


def test_what_is_there_is_left_or_pulled_and_what_is_leased_is_left(lane: TimerLane, now_ms: Now) -> None:
    later = now_ms() + 60_000
    lane.ensure("close", [("leased", 1)], key="a")
    held = leases_of(lane.claim(), lane="timers")
    lane.ensure("close", [("there", later)], key="b")
    lane.ensure("close", [("late", later)], key="c", step=2)
    timers = {
        "a": [("leased", 1), ("new", later)],
        "b": [("there", later + 1)],
        "c": [("late", later - 5_000), ("twice", later), ("twice", later - 1)],
    }

    assert lane.ensure_keys("close", timers) == ["left", "added", "left", "pulled", "added", "added"]
    assert lane.ensure_keys("close", timers) == ["left"] * 6, "what is repeated changes nothing"

    assert lane.acknowledge(held) == 1
    assert lane.look("close", ["late", "twice"], key="c") == [later - 5_000, later - 1]
    assert lane.look("close", ["there"], key="b") == [later]
    assert [(count.waiting, count.turn_ms) for count in lane.count_keys("close", ["a", "b", "c"])] == [
        (1, later),
        (1, later),
        (2, later - 5_000),
    ]
    assert lane.cancel("close", ["new"], key="a") == [True]
    assert lane.count("close") == 3


def test_more_timers_than_a_call_takes_are_all_set(lane: TimerLane, now_ms: Now) -> None:
    timers = {key: [(f"{key}-{n}", now_ms() + 60_000) for n in range(700)] for key in ("a", "b", "c")}

    assert lane.ensure_keys("close", timers) == ["added"] * 2_100
    assert [count.waiting for count in lane.count_keys("close", ["a", "b", "c"])] == [700] * 3


def test_nothing_is_set_where_one_key_cannot_be_stored(lane: TimerLane) -> None:
    with pytest.raises(EntryError):
        lane.ensure_keys("close", {"good": [("1", 0)], "a:b": [("2", 0)]})

    assert lane.count("close") == 0
