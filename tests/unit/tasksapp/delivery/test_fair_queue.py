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
