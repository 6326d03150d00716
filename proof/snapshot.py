"""All that a Redis server's database has at one moment, to which a run may let it go back."""

from __future__ import annotations

from typing import Any

import redis

#: Each key with its value as DUMP gives it, and for how many ms it is still kept; 0 for no end.
Snapshot = dict[bytes, tuple[bytes, int]]


def snapshot(client: redis.Redis) -> Snapshot:
    """What the database has now."""
    keys: Any = client.keys("*")
    with client.pipeline(transaction=False) as pipeline:
        for key in keys:
            pipeline.dump(key)
            pipeline.pttl(key)
        found = pipeline.execute()
    return {key: (found[2 * n], max(0, found[2 * n + 1])) for n, key in enumerate(keys)}


def go_back(client: redis.Redis, earlier: Snapshot) -> None:
    """Makes the database what it was."""
    with client.pipeline(transaction=False) as pipeline:
        pipeline.flushdb()
        for key, (value, ttl) in earlier.items():
            pipeline.restore(key, ttl, value)
        pipeline.execute()
