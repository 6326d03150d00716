"""Who waits, and who goes next."""

from __future__ import annotations

from tasksapp.delivery.fair_queue import Caps, FairQueue
from tests.callbacks import CLOCK, numbered_callback


def test_callbacks_that_wait_are_let_out_in_turn() -> None:
    queue = FairQueue(Caps(process=4, biz_type=4, host=4), CLOCK.monotonic)
    for n in range(3):
        for biz_type in ("a", "b"):
            assert queue.put(numbered_callback(n, biz_type))

    first = [one.job_id for one in queue.take()]

    assert first == ["a-0", "b-0", "a-1", "b-1"]
    assert list(queue.take()) == []


def test_more_may_wait_where_their_turn_comes_soon() -> None:
    seconds = [100.0]
    queue = FairQueue(Caps(process=1, biz_type=1, host=1), lambda: seconds[0])
    for n in range(4):
        entered = [queue.put(numbered_callback(n)), queue.put(numbered_callback(n, "other"))]
        for one in queue.take():
            queue.done(one)
        assert entered == [True, True]

    # four ended in this second, so twenty may wait, and also in the next one
    seconds[0] = 101.0
    fast = [queue.put(numbered_callback(n)) for n in range(30)]
    seconds[0] = 103.0
    after = queue.put(numbered_callback(99))

    assert 5 <= sum(fast) < 30
    assert not after


def test_a_full_host_lets_other_hosts_pass() -> None:
    queue = FairQueue(Caps(process=10, biz_type=10, host=1), CLOCK.monotonic)
    for n in range(3):
        queue.put(numbered_callback(n, "a", host="one"))
    queue.put(numbered_callback(9, "b", host="two"))

    assert [one.job_id for one in queue.take()] == ["a-0", "b-9"]
    assert [one.job_id for one in queue.remove("a")] == ["a-1", "a-2"]
    assert queue.remove() == []


def test_a_flow_key_waits_for_one_callback_of_each_other_key() -> None:
    queue = FairQueue(Caps(process=6, biz_type=6, host=6), CLOCK.monotonic)
    for n in range(10):
        queue.put(numbered_callback(n, key="busy"))
    for n in range(10, 12):
        queue.put(numbered_callback(n, key="small"))

    assert [one.job_id for one in queue.take()] == [f"close-{n}" for n in (0, 10, 1, 11, 2, 3)]
    assert len(queue.remove("close")) == 6


def test_a_full_biz_type_takes_a_key_that_has_less_than_its_share() -> None:
    queue = FairQueue(Caps(process=20, biz_type=1, host=1), CLOCK.monotonic)
    while queue.put(numbered_callback(0, key="busy")):
        pass

    of_small = [queue.put(numbered_callback(n, key="small")) for n in range(10)]
    of_many = [queue.put(numbered_callback(n, key=f"key-{n}")) for n in range(30)]

    assert of_small == [True] * 5 + [False] * 5
    assert 0 < sum(of_many) < 10
    assert not queue.put(numbered_callback(0, key="busy"))
