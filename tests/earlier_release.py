"""What scripts of the release before flow keys and unique keys do, which know nothing of those, in plain commands."""

from __future__ import annotations

from typing import Any

from delayhub.engine import DelayQueue, Lease, TimerLane
from delayhub.engine.keys import MAX_STEPS


def reap(queue: DelayQueue, lease: Lease) -> None:
    """The lease ran out: its message is ready again, with a strike."""
    queue.client.zrem(queue.keys.leased, lease.id)
    queue.client.hdel(queue.keys.holder, lease.id)
    queue.client.hincrby(queue.keys.strikes, lease.id, 1)
    queue.client.hset(queue.keys.lost, lease.id, lease.token)
    queue.client.zadd(queue.keys.ready(0), {lease.id: 1})


def claim(queue: DelayQueue, name: str) -> Lease:
    """Leases a message that is ready."""
    assert sum(int(str(queue.client.zrem(queue.keys.ready(step), name))) for step in range(MAX_STEPS)) == 1
    token = int(str(queue.client.incr(queue.lane_keys.token)))
    queue.client.zadd(queue.keys.leased, {name: 4_000_000_000_000})
    queue.client.hset(queue.keys.holder, name, f"{token}:0:1")
    return queue.lease(name, token)


def end(queue: DelayQueue, *names: str) -> None:
    """Acknowledges, or removes, messages wherever these are."""
    keys = queue.keys
    for key in (keys.waiting, keys.leased, keys.dead, *(keys.ready(step) for step in range(MAX_STEPS))):
        queue.client.zrem(key, *names)
    for key in (keys.holder, keys.payload, keys.strikes, keys.lost):
        queue.client.hdel(key, *names)


def take_parked(queue: DelayQueue, parked_by: str) -> list[str]:
    """Takes, and ends, all that is parked by a name that it knows no limit of."""
    keys = queue.keys
    names = [name.decode() for name in queue.client.zrange(keys.parked_by(parked_by), 0, -1)]
    queue.client.delete(keys.parked_by(parked_by))
    queue.client.zrem(keys.open, parked_by)
    queue.client.zrem(keys.shut, parked_by)
    if queue.client.decrby(keys.parked, len(names)) <= 0:
        queue.client.delete(keys.parked)
    end(queue, *names)
    return names


def promote(queue: DelayQueue, name: str) -> None:
    """Makes a message ready whose time has come, also one that waits for its unique key."""
    assert queue.client.zrem(queue.keys.waiting, name) == 1
    queue.client.zadd(queue.keys.ready(0), {name: 1})


def set_gate(lane: TimerLane, queue: str, **fields: Any) -> None:
    """Sets fields of a gate, and leaves its revision as it is, or none; the next claim looks at it."""
    lane.client.hset(lane.keys.queue(queue).gate, mapping=fields)
    lane.client.zadd(lane.keys.agenda, {queue: 1})
