"""Flow keys: timers of one queue that share it fairly, with limits for each key."""

from __future__ import annotations

from collections import Counter

import pytest
import redis

from delayhub.engine import EngineOptions, Gate, TimerClaim, TimerLane, timer_claim_command
from delayhub.engine.scripts import script
from delayhub.engine.timer_claim import parse_timer_claim
from delayhub.errors import EntryError
from tests.fixture_types import Now, Until
from tests.timer_leases import leases_of

MINUTE = 60_000


def ids_of(claim: TimerClaim) -> list[str]:
    return [timer_id for batch in claim.batches for timer_id in batch.ids]


def keys_of(claim: TimerClaim) -> Counter[str]:
    """How many timers of each flow key, which their ids begin with."""
    return Counter(timer_id.partition("-")[0] for timer_id in ids_of(claim))


def fill(lane: TimerLane, key: str, count: int, *, due: int, step: int = 5) -> None:
    lane.ensure("close", [(f"{key}-{number}", due + number) for number in range(count)], key=key, step=step)


def test_keys_share_a_claim_whatever_their_backlogs(lane: TimerLane, now_ms: Now) -> None:
    fill(lane, "big", 1_000, due=now_ms() - 3_600_000)
    fill(lane, "small", 10, due=now_ms() - 20)
    fill(lane, "", 1_000, due=now_ms() - 1_000)

    assert keys_of(lane.claim(90)) == {"big": 30, "small": 10, "": 50}


def test_a_fresh_key_waits_for_one_round_of_the_others_only(lane: TimerLane, now_ms: Now) -> None:
    for number in range(200):
        fill(lane, f"old{number}", 30, due=now_ms() - 3_600_000)
    lane.acknowledge(leases_of(lane.claim(100), lane="timers"))
    fill(lane, "fresh", 10, due=now_ms() - 20)

    taken, claims = Counter[str](), 0
    while taken["fresh"] < 10:
        taken += keys_of(lane.claim(100))
        claims += 1

    assert sum(taken.values()) <= 2_100
    assert max(taken.values()) - min(taken.values()) <= 2


def test_new_timers_that_are_due_long_ago_give_a_key_no_sooner_turn(lane: TimerLane, now_ms: Now) -> None:
    fill(lane, "greedy", 100, due=now_ms() - 1_000)
    fill(lane, "other", 100, due=now_ms() - 1_000)
    first = keys_of(lane.claim(1))
    lane.ensure("close", [(f"{next(iter(first))}-again", now_ms() - 3_600_000)], key=next(iter(first)))

    assert keys_of(lane.claim(1)) != first


def test_priorities_decide_within_a_key(lane: TimerLane, now_ms: Now) -> None:
    fill(lane, "a", 20, due=now_ms() - 5_000, step=5)
    lane.ensure("close", [("a-urgent", now_ms() - 1)], key="a", step=0)

    assert ids_of(lane.claim(2)) == ["a-urgent", "a-0"]


def test_a_rate_holds_for_each_key(lane: TimerLane, now_ms: Now, until: Until) -> None:
    lane.set_gate("close", Gate(key_rate_per_second=50, key_burst=2))
    for key in ("a", "b"):
        fill(lane, key, 50, due=now_ms() - 100)
    start = now_ms()

    passed = Counter[str]()
    while passed["a"] < 12 or passed["b"] < 12:
        claim = lane.claim(100)
        passed += keys_of(claim)
        assert all(count <= 2 + (claim.now_ms - start + 101) * 50 / 1000 for count in passed.values())
        assert claim.come_back_ms is not None
        until(claim.come_back_ms)

    assert now_ms() - start >= 90


def test_slots_hold_for_each_key_and_are_free_when_settled(lane: TimerLane, now_ms: Now) -> None:
    lane.set_gate("close", Gate(key_max_in_flight=2))
    for key in ("a", "b"):
        fill(lane, key, 10, due=now_ms() - 100)

    first = lane.claim(100)
    lane.acknowledge(leases_of(first, lane="timers"))
    held_back = lane.claim(100)
    lane.settle("close", [timer_id for timer_id in ids_of(first) if timer_id.startswith("a")][:1])
    then = lane.claim(100)

    assert keys_of(first) == {"a": 2, "b": 2}
    assert held_back.batches == []
    assert keys_of(then) == {"a": 1}


@pytest.mark.heals
def test_what_is_known_of_slots_is_made_again_from_the_slots(lane: TimerLane, now_ms: Now) -> None:
    lane.set_gate("close", Gate(key_max_in_flight=2))
    fill(lane, "a", 10, due=now_ms() - 100)
    taken = ids_of(lane.claim(100))

    # the gate of the queue frees a slot that has expired, and no more
    lane.client.zrem(lane.keys.queue("close").in_flight, taken[0])
    lane.client.zadd(lane.keys.agenda, {"close": 0})
    lane.client.zadd(lane.keys.queue("close").turns, {"a": 0})

    assert len(ids_of(lane.claim(100))) == 1
    lane.client.zadd(lane.keys.queue("close").turns, {"a": 0})
    assert lane.claim(100).batches == []


@pytest.mark.heals
def test_slots_of_lost_workers_expire(lane: TimerLane, now_ms: Now, until: Until) -> None:
    brief = TimerLane(lane.client, lane.name, options=EngineOptions(slot_seconds=0.05))
    lane.set_gate("close", Gate(key_max_in_flight=1))
    fill(lane, "a", 2, due=now_ms() - 100)
    claim = brief.claim()
    lane.acknowledge(leases_of(claim, lane="timers"))
    assert claim.now_ms < (brief.claim().come_back_ms or 0)

    until(now_ms() + 60)

    assert ids_of(brief.claim()) == ["a-1"]


def test_a_paused_key_waits_and_holds_up_no_other(lane: TimerLane, now_ms: Now) -> None:
    lane.pause_keys("close", {"a": now_ms() + MINUTE, "never": now_ms() + MINUTE})
    for key in ("a", "b"):
        fill(lane, key, 3, due=now_ms() - 100)

    paused = keys_of(lane.claim())
    lane.pause_keys("close", {"a": None, "never": None})

    assert paused == {"b": 3}
    assert keys_of(lane.claim()) == {"a": 3}


def test_verbs_find_timers_by_their_key(lane: TimerLane, now_ms: Now) -> None:
    later = now_ms() + MINUTE
    fill(lane, "a", 3, due=later)
    fill(lane, "b", 2, due=now_ms() - 100, step=2)
    fill(lane, "", 1, due=later)

    assert lane.count("close") == 6
    assert lane.counts()[:3] == (4, 2, 0)
    assert lane.look("close", ["a-0", "b-0"], key="a") == [later, None]
    assert sorted(lane.waiting("close")) == [("", ["-0"]), ("a", ["a-0", "a-1", "a-2"]), ("b", ["b-0", "b-1"])]
    assert [(each.key, each.waiting, each.due) for each in lane.count_keys("close")] == [("b", 2, 2), ("a", 3, 0)]
    assert [each.waiting for each in lane.count_keys("close", ["a", "absent"])] == [3, 0]
    assert lane.ensure("close", [("a-0", later - 5)], key="a") == ["pulled"]
    assert lane.put("close", [("a-0", later)], key="c", former_key="a") == ["moved"]
    assert lane.look("close", ["a-0"], key="c") == [later]
    assert lane.count("close") == 6
    assert lane.cancel("close", ["a-1", "a-2", "b-0"], key="a") == [True, True, False]
    claim = lane.claim()
    assert keys_of(claim) == {"b": 2}
    assert lane.release(leases_of(claim, lane="timers"), delay_ms=MINUTE) == 2
    assert lane.look("close", ["b-0"], key="b") != [None]
    assert lane.count("close") == 4


def test_a_timer_whose_lease_ran_out_goes_back_to_its_key(lane: TimerLane, now_ms: Now, until: Until) -> None:
    short = TimerLane(lane.client, lane.name, options=EngineOptions(lease_seconds=0.02))
    lane.set_gate("close", Gate(key_max_in_flight=1))
    fill(lane, "a", 1, due=now_ms() - 100)
    short.claim()

    until(now_ms() + 30)

    assert [batch.strikes for batch in lane.claim().batches] == [{"a-0": 1}]


@pytest.mark.parametrize("ends", ["acknowledged", "cancelled", "put elsewhere"])
def test_nothing_is_left_when_the_last_timer_of_a_key_is_gone(
    lane: TimerLane, redis_client: redis.Redis, now_ms: Now, until: Until, ends: str
) -> None:
    lane.set_gate("close", Gate(key_rate_per_second=1000, key_burst=2, key_max_in_flight=5))
    fill(lane, "a", 2, due=now_ms() - 100, step=3)
    if ends == "acknowledged":
        claim = lane.claim()
        lane.acknowledge(leases_of(claim, lane="timers"))
        lane.settle("close", ids_of(claim))
        until(now_ms() + 10)
    elif ends == "cancelled":
        lane.cancel("close", ["a-0", "a-1"], key="a")
    else:
        lane.put("close", [("a-0", now_ms() + MINUTE), ("a-1", now_ms() + MINUTE)], former_key="a")
        lane.cancel("close", ["a-0", "a-1"])

    gate = lane.keys.queue("close").gate.encode()
    assert [key for key in redis_client.scan_iter() if b":close:" in key] == [gate]
    assert b"keyed" not in redis_client.hkeys(gate)


@pytest.mark.parametrize("key", ["a:b", "{a}", "a\0", "x" * 101, "\u00e9" * 51])
def test_a_key_that_cannot_be_part_of_a_redis_key_is_refused(lane: TimerLane, key: str) -> None:
    with pytest.raises(EntryError, match="a flow key may have 100 bytes"):
        lane.ensure("close", [("1", 0)], key=key)


def test_a_claim_says_how_many_keys_it_brought_and_takes_so_many_of_each_at_most(lane: TimerLane, now_ms: Now) -> None:
    fill(lane, "busy", 100, due=now_ms() - 1_000)
    fill(lane, "small", 3, due=now_ms() - 1_000)
    command = timer_claim_command("timers", limit=90, key_limit=20, consumer="c", options=lane.options)

    (batch,) = parse_timer_claim(script("claim_timers").run(lane.client, command[3:4], command[4:])).batches

    assert Counter(name.partition("-")[0] for name in batch.ids) == {"busy": 20, "small": 3}
    assert batch.keys == 2
