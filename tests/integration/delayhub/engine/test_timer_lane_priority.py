"""Priorities of timers: each step has a set of its own, and a claim takes the most urgent of what is due."""

from __future__ import annotations

from itertools import pairwise

import redis
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from delayhub.engine import EngineOptions, Gate, TimerClaim, TimerLane
from tests.fixture_types import Now, Until
from tests.property_sizes import examples
from tests.timer_leases import leases_of

MINUTE = 60_000


def ids_of(claim: TimerClaim) -> list[str]:
    return [timer_id for batch in claim.batches for timer_id in batch.ids]


def drained(lane: TimerLane, *, limit: int) -> list[str]:
    """All due timers in the order of their claims."""
    taken: list[str] = []
    while found := ids_of(lane.claim(limit)):
        taken += found
    return taken


def test_under_a_backlog_each_permit_goes_to_the_most_urgent(lane: TimerLane, now_ms: Now, until: Until) -> None:
    lane.set_gate("close", Gate(rate_per_second=100, burst=1))
    lane.ensure("close", [(f"usual-{n}", now_ms() - 5_000 + n) for n in range(1_000)])
    lane.ensure("close", [(f"urgent-{n}", now_ms() - 10 + n) for n in range(5)], step=0)

    taken: list[str] = []
    while len(taken) < 6:
        claim = lane.claim()
        taken += ids_of(claim)
        assert claim.come_back_ms is not None
        until(claim.come_back_ms)

    assert taken[:6] == [*(f"urgent-{n}" for n in range(5)), "usual-0"]


@settings(max_examples=examples(12), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    timers=st.lists(st.tuples(st.integers(0, 12 * MINUTE), st.integers(0, 9)), min_size=1, max_size=60),
    limit=st.integers(1, 40),
)
def test_what_is_due_goes_by_time_and_step_and_nothing_overtakes_by_more_than_nine_bonuses(
    lane: TimerLane, now_ms: Now, timers: list[tuple[int, int]], limit: int
) -> None:
    lane.client.flushall()
    base = now_ms() - 13 * MINUTE
    due = {f"{n}": (base + offset, step) for n, (offset, step) in enumerate(timers)}
    for timer_id, (at, step) in due.items():
        lane.ensure("close", [(timer_id, at)], step=step)

    taken = drained(lane, limit=limit)

    assert sorted(taken) == sorted(due)
    for place, timer_id in enumerate(taken):
        at = due[timer_id][0]
        assert all(due[before][0] <= at + 9 * MINUTE for before in taken[:place])
    ranks = [due[timer_id][0] + due[timer_id][1] * MINUTE for timer_id in taken]
    assert all(first <= second for first, second in pairwise(ranks))


def test_the_bonus_is_part_of_the_gate(lane: TimerLane, now_ms: Now) -> None:
    lane.set_gate("close", Gate(bonus_ms=10))
    lane.ensure("close", [("less urgent", now_ms() - 100)], step=9)
    lane.ensure("close", [("urgent", now_ms() - 1)], step=0)

    assert drained(lane, limit=1) == ["less urgent", "urgent"]


def test_every_verb_sees_all_steps(lane: TimerLane, now_ms: Now) -> None:
    later = now_ms() + MINUTE
    for step in range(10):
        lane.ensure("close", [(f"{step}", later + step)], step=step)
        lane.ensure("close", [(f"due-{step}", now_ms() - 1)], step=step)

    ids = [f"{step}" for step in range(10)]
    assert lane.count() == 20
    assert lane.counts()[:3] == (10, 10, 0)
    assert lane.look("close", ids) == [later + step for step in range(10)]
    assert sorted(name for _, page in lane.waiting("close") for name in page) == sorted(ids + [f"due-{n}" for n in ids])
    assert [each.next_ms for each in lane.outlook(["close"])] == [later]
    assert lane.ensure("close", [(name, later - 5) for name in ids], step=2) == ["pulled"] * 10
    assert lane.ensure("close", [(name, later) for name in ids], step=7) == ["left"] * 10
    assert lane.put("close", [(name, later + 5) for name in ids], step=8) == ["moved"] * 10
    claim = lane.claim()
    assert lane.counts()[:3] == (10, 0, 10)
    assert lane.release(leases_of(claim, lane="timers")) == 10
    assert lane.counts()[:3] == (10, 10, 0)
    assert lane.cancel("close", [*ids, *(f"due-{name}" for name in ids)]) == [True] * 20
    assert lane.count() == 0


def test_a_timer_is_in_one_set_whatever_its_steps_were(lane: TimerLane, redis_client: redis.Redis, now_ms: Now) -> None:
    for step in (0, 5, 9, 3):
        lane.put("close", [("1", now_ms())], step=step)

    assert redis_client.zcard(lane.keys.queue("close").step_waiting(3)) == 1
    assert lane.count() == 1


def test_a_lost_lease_and_a_delay_keep_the_step(lane: TimerLane, now_ms: Now, until: Until) -> None:
    short = TimerLane(lane.client, lane.name, options=EngineOptions(lease_seconds=0.02))
    lane.ensure("close", [("lost", now_ms())], step=1)
    short.claim()
    until(now_ms() + 30)
    again = lane.claim()
    lane.release(leases_of(again, lane="timers"), delay_ms=MINUTE)

    assert [batch.strikes for batch in again.batches] == [{"lost": 1}]
    assert lane.client.zcard(lane.keys.queue("close").step_waiting(1)) == 1


def test_a_set_that_is_empty_is_not_looked_at_any_more(lane: TimerLane, now_ms: Now) -> None:
    lane.ensure("close", [("1", now_ms())], step=0)
    lane.acknowledge(leases_of(lane.claim(), lane="timers"))

    assert not lane.client.exists(lane.keys.queue("close").gate)
