"""When a claim is called for: what is held back keeps up nothing that the limits let pass."""

from __future__ import annotations

import pytest

from delayhub.engine import Gate, TimerLane
from tests.fixture_types import Now
from tests.timer_leases import leases_of


@pytest.mark.parametrize("gate", [Gate(max_in_flight=9), Gate(key_max_in_flight=9)], ids=["queue", "key"])
@pytest.mark.parametrize("rate", [None, 400])
def test_a_job_that_runs_for_long_delays_no_other_while_slots_are_free(
    lane: TimerLane, now_ms: Now, gate: Gate, rate: float | None
) -> None:
    lane.set_gate("close", Gate(max_in_flight=gate.max_in_flight, key_max_in_flight=gate.key_max_in_flight,
                                rate_per_second=rate, burst=9))  # fmt: skip
    lane.ensure("close", [("long", 0)], key="tenant")
    lane.acknowledge(leases_of(lane.claim(), lane="timers"))
    soon = now_ms() + 20_000
    lane.ensure("close", [("short", 0), ("next", soon)], key="tenant")

    # not when the lease of the short one ends, nor when the slot of the long one does
    assert lane.claim().come_back_ms == soon


def test_a_key_at_its_limit_hides_no_other_that_is_in_line(lane: TimerLane) -> None:
    lane.set_gate("close", Gate(max_in_flight=2, key_max_in_flight=1))
    lane.ensure("close", [("a-1", 0), ("a-2", 0)], key="a")
    lane.acknowledge(leases_of(lane.claim(), lane="timers"))
    lane.ensure("close", [("b-1", 0)], key="b")

    taken = [lease.id for _ in range(3) for lease in leases_of(lane.claim(), lane="timers")]

    assert taken == ["b-1"]


def test_timers_without_a_key_wait_for_no_turn_once_those_with_keys_are_gone(lane: TimerLane, now_ms: Now) -> None:
    soon = now_ms() + 60_000
    lane.ensure("close", [("own-1", 0), ("own-2", soon)])
    lane.ensure("close", [("a-1", 0)], key="a")
    lane.acknowledge(leases_of(lane.claim(), lane="timers"))
    lane.put("close", [("own-2", 0)])
    lane.acknowledge(leases_of(lane.claim(), lane="timers"))

    lane.ensure("close", [("own-3", soon)])
    lane.client.zadd(lane.keys.queue("close").turns, {"": 0})
    lane.client.zadd(lane.keys.agenda, {"close": 0})
    claim = lane.claim()

    assert (claim.more, claim.come_back_ms) == (False, soon)


@pytest.mark.parametrize("verb", ["put", "cancel"])
def test_a_verb_that_ends_a_lease_frees_its_slot(lane: TimerLane, now_ms: Now, verb: str) -> None:
    lane.set_gate("close", Gate(max_in_flight=1, key_max_in_flight=1))
    lane.ensure("close", [("first", 0), ("second", 1)], key="a")
    lane.claim()

    if verb == "put":
        lane.put("close", [("first", now_ms() + 60_000)], key="a")
    else:
        lane.cancel("close", ["first"], key="a")

    assert [lease.id for lease in leases_of(lane.claim(), lane="timers")] == ["second"]


def test_a_timer_that_is_given_back_for_later_leaves_its_slot_to_others_at_once(lane: TimerLane) -> None:
    lane.set_gate("close", Gate(max_in_flight=1))
    lane.ensure("close", [("first", 0), ("second", 1)])

    lane.release(leases_of(lane.claim(), lane="timers"), delay_ms=60_000)

    assert [lease.id for lease in leases_of(lane.claim(), lane="timers")] == ["second"]


@pytest.mark.parametrize("held_back_by", [Gate(key_max_in_flight=1), Gate(key_rate_per_second=0.001)])
def test_keys_follow_a_change_of_their_limits_at_once(lane: TimerLane, held_back_by: Gate) -> None:
    lane.set_gate("close", held_back_by)
    lane.ensure("close", [("first", 0), ("second", 1)], key="a")
    lane.acknowledge(leases_of(lane.claim(), lane="timers"))

    lane.set_gate("close", Gate())

    assert [lease.id for lease in leases_of(lane.claim(), lane="timers")] == ["second"]


def test_a_timer_that_still_has_its_slot_leaves_room_for_another(lane: TimerLane) -> None:
    lane.set_gate("close", Gate(max_in_flight=2, key_max_in_flight=2))
    lane.ensure("close", [("again", 0)], key="a")
    lane.acknowledge(leases_of(lane.claim(), lane="timers"))
    lane.ensure("close", [("again", 0), ("other", 1)], key="a")

    taken = [lease.id for _ in range(2) for lease in leases_of(lane.claim(), lane="timers")]

    assert taken == ["again", "other"]


def test_a_pause_that_is_made_shorter_ends_when_it_says(lane: TimerLane, now_ms: Now) -> None:
    soon = now_ms() + 20_000
    lane.pause_keys("close", {"a": soon + 60_000})
    lane.ensure("close", [("first", 0)], key="a")
    lane.claim()

    lane.pause_keys("close", {"a": soon})

    assert lane.claim().come_back_ms == soon
