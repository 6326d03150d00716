"""A lane of timers: what a claim takes, and what its gates hold back."""

from __future__ import annotations

import pytest
import redis

from delayhub.engine import EngineOptions, Gate, TimerClaim, TimerLane
from delayhub.errors import EntryError
from tests.fixture_types import Now, Until
from tests.timer_leases import leases_of


def by_queue(claim: TimerClaim) -> dict[str, list[str]]:
    return {batch.queue: batch.ids for batch in claim.batches}


def test_due_timers_of_all_queues_come_in_one_claim(lane: TimerLane, now_ms: Now) -> None:
    now = now_ms()
    lane.ensure("close", [("1", now), ("2", now + 60_000)])
    lane.ensure("remind", [("1", now - 5)])

    claim = lane.claim()

    assert by_queue(claim) == {"close": ["1"], "remind": ["1"]}
    assert lane.acknowledge(leases_of(claim, lane="timers")) == 2
    assert lane.count() == 1


def test_ensure_only_ever_pulls_a_timer_earlier(lane: TimerLane, now_ms: Now) -> None:
    base = now_ms() + 60_000

    answers = [lane.ensure("close", [("1", due)])[0] for due in (base, base + 5, base - 5, base - 5)]

    assert answers == ["added", "left", "pulled", "left"]
    assert lane.claim().come_back_ms == base - 5


def test_of_an_id_that_is_ensured_twice_at_once_the_earlier_time_counts(lane: TimerLane, now_ms: Now) -> None:
    base = now_ms() + 60_000

    lane.ensure("close", [("1", base), ("1", base - 5), ("1", base + 5)])

    assert lane.look("close", ["1"]) == [base - 5]


def test_ensure_leaves_a_leased_timer_to_its_consumer(lane: TimerLane, now_ms: Now) -> None:
    lane.ensure("close", [("1", now_ms())])
    claim = lane.claim()

    assert lane.ensure("close", [("1", now_ms())]) == ["left"]
    assert lane.acknowledge(leases_of(claim, lane="timers")) == 1
    assert lane.count() == 0


def test_put_is_exact_and_voids_a_lease(lane: TimerLane, now_ms: Now) -> None:
    lane.ensure("close", [("1", now_ms())])
    claim = lane.claim()

    assert lane.put("close", [("1", now_ms() + 60_000), ("2", now_ms() + 60_000)]) == ["moved", "added"]
    assert lane.acknowledge(leases_of(claim, lane="timers")) == 0
    assert lane.count("close") == 2


def test_a_cancelled_timer_is_gone_wherever_it_was(lane: TimerLane, now_ms: Now) -> None:
    lane.ensure("close", [("leased", now_ms())])
    lane.claim()
    lane.ensure("close", [("waiting", now_ms() + 60_000)])

    assert lane.cancel("close", ["leased", "waiting", "never"]) == [True, True, False]
    assert lane.count("close") == 0


def test_a_timer_whose_lease_ran_out_comes_again_with_a_strike(
    redis_client: redis.Redis, lane: TimerLane, now_ms: Now, until: Until
) -> None:
    lane.ensure("close", [("1", now_ms())])
    lost = lane.claim()
    assert lane.extend(leases_of(lost, lane="timers"), lease_ms=5) == {"1"}
    assert lane.claim().batches == []

    until(now_ms() + 10)
    redis_client.zadd(lane.keys.agenda, {"close": 0})
    again = lane.claim()

    assert [(batch.ids, batch.strikes) for batch in again.batches] == [(["1"], {"1": 1})]
    assert lane.acknowledge(leases_of(lost, lane="timers")) == 0


def test_a_released_timer_waits_for_its_delay(lane: TimerLane, now_ms: Now) -> None:
    lane.ensure("close", [("1", now_ms()), ("2", now_ms())])
    claim = lane.claim()
    first, second = leases_of(claim, lane="timers")

    assert lane.release([first], delay_ms=60_000) == 1
    assert lane.release([second]) == 1
    assert by_queue(lane.claim()) == {"close": ["2"]}


def test_nothing_is_left_in_redis_when_everything_is_done(
    lane: TimerLane, redis_client: redis.Redis, now_ms: Now
) -> None:
    lane.ensure("close", [("1", now_ms())])
    lane.acknowledge(leases_of(lane.claim(), lane="timers"))

    assert not [key for key in redis_client.scan_iter() if b":close:" in key]


def test_a_queue_that_has_much_leaves_room_for_the_others(lane: TimerLane, now_ms: Now) -> None:
    lane.ensure("huge", [(str(number), now_ms()) for number in range(1000)])
    lane.ensure("small", [("1", now_ms())])

    assert "small" in by_queue(lane.claim(100))


def test_weights_share_a_claim(lane: TimerLane, now_ms: Now) -> None:
    for name, weight in (("light", 1), ("heavy", 3)):
        lane.set_gate(name, Gate(weight=weight))
        lane.ensure(name, [(str(number), now_ms()) for number in range(200)])

    taken = {name: len(found) for name, found in by_queue(lane.claim(100)).items()}

    assert taken == {"light": 25, "heavy": 75}


def test_a_rate_lets_through_its_burst_and_then_one_permit_at_a_time(
    lane: TimerLane, now_ms: Now, until: Until
) -> None:
    lane.set_gate("close", Gate(rate_per_second=50, burst=5))
    start = now_ms()
    lane.ensure("close", [(str(number), now_ms()) for number in range(100)])

    passed = 0
    while passed < 15:
        claim = lane.claim(100)
        passed += sum(len(batch.ids) for batch in claim.batches)
        assert claim.come_back_ms is not None
        assert claim.come_back_ms > claim.now_ms
        assert passed <= 5 + (claim.now_ms - start + 1) * 50 / 1000
        until(claim.come_back_ms)

    assert now_ms() - start >= 190  # ten permits of 20 ms after the burst


def test_permits_are_used_by_what_was_taken_and_no_more(lane: TimerLane, now_ms: Now) -> None:
    lane.set_gate("close", Gate(rate_per_second=0.001, burst=5))
    lane.ensure("close", [("1", now_ms()), ("2", now_ms())])

    assert sum(len(batch.ids) for batch in lane.claim().batches) == 2
    lane.ensure("close", [(str(number), now_ms()) for number in range(3, 20)])
    assert sum(len(batch.ids) for batch in lane.claim().batches) == 3
    assert lane.claim().batches == []


def test_slots_in_flight_hold_timers_back_until_they_are_settled(lane: TimerLane, now_ms: Now) -> None:
    lane.set_gate("close", Gate(max_in_flight=3))
    lane.ensure("close", [(str(number), now_ms()) for number in range(10)])

    first = lane.claim()
    lane.acknowledge(leases_of(first, lane="timers"))
    held_back = lane.claim()
    freed = lane.settle("close", by_queue(first)["close"][:2])
    then = lane.claim()

    assert [len(batch.ids) for batch in first.batches] == [3]
    assert held_back.batches == []
    assert freed == 2
    assert [len(batch.ids) for batch in then.batches] == [2]


def test_a_late_settlement_leaves_the_slot_of_a_later_claim(lane: TimerLane, now_ms: Now, until: Until) -> None:
    lane.set_gate("close", Gate(max_in_flight=2))
    lane.ensure("close", [("1", now_ms()), ("2", now_ms())])
    lane.acknowledge(leases_of(lane.claim(), lane="timers"))
    ended_ms = now_ms()
    lane.settle("close", ["1"])
    until(ended_ms + 2)
    lane.put("close", [("1", now_ms())])
    assert by_queue(lane.claim()) == {"close": ["1"]}

    freed = lane.settle("close", ["1", "2"], claimed_until_ms=ended_ms)

    assert freed == 1
    assert lane.client.zrange(lane.keys.queue("close").in_flight, 0, -1) == [b"1"]


def test_a_lease_that_ran_out_frees_the_slot(lane: TimerLane, now_ms: Now, until: Until) -> None:
    short = TimerLane(lane.client, lane.name, options=EngineOptions(lease_seconds=0.05))
    lane.set_gate("close", Gate(max_in_flight=1))
    lane.ensure("close", [("1", now_ms())])
    assert by_queue(short.claim()) == {"close": ["1"]}  # and its consumer never heard of it

    until(now_ms() + 60)

    assert by_queue(lane.claim()) == {"close": ["1"]}


def test_a_shut_gate_lets_nothing_through_and_holds_up_no_other_queue(lane: TimerLane, now_ms: Now) -> None:
    lane.set_gate("paused", Gate(shut_until_ms=now_ms() + 60_000))
    lane.ensure("paused", [(str(number), now_ms()) for number in range(200)])
    lane.ensure("open", [("1", now_ms())])

    assert by_queue(lane.claim()) == {"open": ["1"]}
    lane.set_gate("paused", Gate())
    assert len(by_queue(lane.claim())["paused"]) == 100


@pytest.mark.parametrize("name", ["", "@agenda"])
def test_a_queue_name_that_would_meet_a_lanes_key_is_refused(lane: TimerLane, name: str) -> None:
    with pytest.raises(EntryError, match="does not begin with '@'"):
        lane.ensure(name, [("1", 0)])


def test_a_bare_timer_costs_at_most_160_bytes(lane: TimerLane, redis_client: redis.Redis, now_ms: Now) -> None:
    base = now_ms() + 60_000

    for page in range(20):
        lane.ensure("close", [(f"0197f3a2b4c5{page * 1000 + number:08d}", base + number) for number in range(1000)])

    # Not used_memory: buffers of clients, of other tests' too, count there. 76 on Valkey 9.1, 107 on 6.2, 122 on 7.0.
    used = sum(int(redis_client.memory_usage(key, samples=0) or 0) for key in redis_client.keys("*"))
    assert 50 <= used / 20_000 <= 160


def test_a_claim_leaves_its_time_once_a_second(lane: TimerLane, now_ms: Now) -> None:
    before = now_ms()

    lane.claim()
    first = int(lane.client.get(lane.keys.claimed) or 0)
    lane.claim()

    assert before <= first <= now_ms()
    assert int(lane.client.get(lane.keys.claimed) or 0) == first
    for other in (first - 1_001, first + 60_000):  # the second: Redis' clock went back
        lane.client.set(lane.keys.claimed, other)
        lane.claim()
        assert first <= int(lane.client.get(lane.keys.claimed) or 0) <= now_ms()


def test_a_claim_that_only_acknowledges_leaves_no_time(lane: TimerLane) -> None:
    lane.claim(0)

    assert not lane.client.exists(lane.keys.claimed)
