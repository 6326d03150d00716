"""A revoke leaves a tombstone, which marks what comes later under its id."""

from __future__ import annotations

import redis

from delayhub.engine import DelayQueue, Entry


def test_a_tombstone_marks_a_later_entry_as_revoked(queue: DelayQueue) -> None:
    queue.cancel(["gone"], tombstone_ms=60_000)

    queue.schedule([Entry("gone"), Entry("gone"), Entry("other")])

    assert [(entry.id, entry.revoked) for entry in queue.claim().entries] == [
        ("gone", True),
        ("gone#1", True),
        ("other", False),
    ]


def test_a_tombstone_ends_no_sooner_where_an_id_is_revoked_again(queue: DelayQueue, redis_client: redis.Redis) -> None:
    queue.cancel(["gone"], tombstone_ms=86_400_000)
    ends = redis_client.zscore(queue.keys.revoked, "gone")

    queue.cancel(["gone"], tombstone_ms=60_000)

    assert redis_client.zscore(queue.keys.revoked, "gone") == ends
