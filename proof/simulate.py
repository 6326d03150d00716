"""Plays histories by seed, and tells the shortest of each kind that breaks a law: ``make simulate``."""

from __future__ import annotations

import argparse
import json
import sys
import time

import redis

from delayhub.local.redis_server import RedisServer
from proof.messages.history import Failure, Plan, Player
from proof.met import Met
from proof.virtual_time import virtual_time

#: So many histories come by everything in :class:`Sometimes`; of fewer, nothing is asked.
ENOUGH = 1000


def main() -> int:
    """0 where every history kept all laws, and everything was met."""
    parser = argparse.ArgumentParser(prog="simulate", description=__doc__)
    parser.add_argument("--seed", type=int, default=1, help="of the first history (default: 1)")
    parser.add_argument("--count", type=int, default=2000, help="of histories (default: 2000)")
    options = parser.parse_args()
    met = Met()
    failures: dict[str, Failure] = {}
    began = time.monotonic()
    with virtual_time(), RedisServer() as server:
        player = Player(redis.Redis(port=server.port), met)
        for seed in range(options.seed, options.seed + options.count):
            failure = player.play(Plan.drawn(seed))
            if failure is not None and failure.broken.kind not in failures:
                failures[failure.broken.kind] = player.shrink(failure)
        verbs = player.verbs
    for failure in failures.values():
        print(f"seed {failure.plan.seed}, {failure.plan.setting}")
        print(*failure.story, "", sep="\n")
    never = met.never if options.count >= ENOUGH else []
    for what in never:
        print(f"no history met: {what}")
    result = {
        "first seed": options.seed,
        "histories": options.count,
        "verbs": verbs,
        "kinds of failure": {kind: failure.plan.seed for kind, failure in failures.items()},
        "met": {what.value: met.counts[what] for what in met.counts},
        "seconds": round(time.monotonic() - began, 1),
    }
    print(json.dumps(result))
    return 1 if failures or never else 0


if __name__ == "__main__":
    sys.exit(main())
