"""Fencing tokens: each claim draws a later one, also after Redis went back."""

from __future__ import annotations

from delayhub.engine import DelayQueue, Entry, TimerLane
from tests.fixture_types import Now, Until


def test_no_claim_draws_a_token_again_after_redis_went_back(
    queue: DelayQueue, lane: TimerLane, now_ms: Now, until: Until
) -> None:
    queue.schedule([Entry("a", payload=b"?")])
    lane.ensure("close", [("1", now_ms())])
    client, stored = queue.client, (queue.lane_keys.token, lane.keys.token)
    before = [client.get(key) for key in stored]
    lost = queue.claim(1, lease_ms=0).entries[0].token, lane.claim().batches[0].token

    for key, value in zip(stored, before, strict=True):  # a replica that had not heard of the claims is master now
        client.set(key, value) if value else client.delete(key)
    lane.put("close", [("1", now_ms())])
    until(now_ms() + 1)

    assert queue.claim(1).entries[0].token > lost[0]
    assert lane.claim().batches[0].token > lost[1]
