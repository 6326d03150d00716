"""What claims, or a sweep, had to put right, since something had left it behind."""

from __future__ import annotations

import redis


def what_was_healed(client: redis.Redis) -> dict[str, dict[str, int]]:
    """By key of Redis, of queues and lanes: what was put right, and how often. Nothing where Redis is away."""
    try:
        keys = client.keys("*delayhub:*healed")
        return {key.decode(): {what.decode(): int(n) for what, n in client.hgetall(key).items()} for key in keys}
    except redis.ConnectionError:
        return {}
