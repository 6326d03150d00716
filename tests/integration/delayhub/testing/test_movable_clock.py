"""``delayhub.testing``: time moves, and everything that waits comes nearer by as much."""

from __future__ import annotations

import pytest
import redis

from delayhub.engine import DelayQueue, Entry, Gate, TimerLane
from delayhub.engine.limits import DECLARED, Limit, set_limits
from delayhub.engine.unique import UniqueKey, Until, offer
from delayhub.testing import MovableClock

HOUR_MS = 3_600_000


@pytest.fixture
def clock(redis_client: redis.Redis) -> MovableClock:
    return MovableClock(redis_client, jobs=False)


def test_a_waiting_message_is_due_once_the_clock_has_moved(redis_client: redis.Redis, clock: MovableClock) -> None:
    queue = DelayQueue(redis_client, "orders")
    queue.schedule([Entry("soon", clock.now_ms() + HOUR_MS, step=3), Entry("late", clock.now_ms() + 3 * HOUR_MS)])

    clock.advance(minutes=59)
    assert queue.claim().entries == []
    clock.advance(minutes=1)

    assert [entry.id for entry in queue.claim().entries] == ["soon"]
    assert queue.count().waiting == 1


def test_a_lease_runs_out(redis_client: redis.Redis, clock: MovableClock) -> None:
    queue = DelayQueue(redis_client, "orders")
    queue.schedule([Entry("held")])
    [held] = queue.claim().entries

    clock.advance(days=1)

    assert queue.reap() == (1, 0)
    assert queue.extend([queue.lease(held.id, held.token)]) == set()


def test_what_a_limit_holds_back_starts_and_a_key_that_is_taken_for_a_time_is_free(
    redis_client: redis.Redis, clock: MovableClock
) -> None:
    queue = DelayQueue(redis_client, "orders")
    set_limits(queue, DECLARED, {"shop.mail": Limit(HOUR_MS * 1000)})
    queue.schedule([Entry(name, 0, b'{"headers":{"task":"shop.mail"}}') for name in ("first", "second")])
    once = UniqueKey(key="k", until=Until.TIME, milliseconds=HOUR_MS)
    assert offer(queue, Entry("a"), once).outcome == "added"
    begun = queue.claim(10).entries
    assert [entry.id for entry in begun] == ["first", "a"]
    queue.acknowledge([queue.lease(entry.id, entry.token) for entry in begun])
    assert offer(queue, Entry("b"), once).outcome == "refused"

    clock.advance(hours=1)

    assert [entry.id for entry in queue.claim(10).entries] == ["second"]
    assert offer(queue, Entry("b"), once).outcome == "added"


def test_timers_fire_and_shut_gates_open(redis_client: redis.Redis, clock: MovableClock) -> None:
    lane = TimerLane(redis_client, "timers")
    lane.ensure("open", [("a", clock.now_ms() + HOUR_MS)])
    lane.ensure("shut", [("b", clock.now_ms())])
    lane.set_gate("shut", Gate(shut_until_ms=clock.now_ms() + HOUR_MS))
    assert lane.claim().batches == []

    clock.advance(hours=1, seconds=1)

    assert sorted(batch.queue for batch in lane.claim().batches) == ["open", "shut"]


def test_a_consumer_that_waits_at_the_bell_is_woken(redis_client: redis.Redis, clock: MovableClock) -> None:
    queue = DelayQueue(redis_client, "orders")
    queue.schedule([Entry("soon", clock.now_ms() + HOUR_MS)])
    redis_client.delete(queue.lane_keys.wake)

    clock.advance(hours=1)

    assert redis_client.blpop([queue.lane_keys.wake], timeout=60) is not None


def test_the_clock_itself_runs_and_jumps() -> None:
    clock = MovableClock()
    before_ms, before = clock.now_ms(), clock.monotonic()

    clock.advance(seconds=90)

    assert 90_000 <= clock.now_ms() - before_ms < 150_000
    assert 90 <= clock.monotonic() - before < 150


def test_a_clock_does_not_go_back() -> None:
    with pytest.raises(ValueError, match="does not go back"):
        MovableClock().advance(seconds=-1)
