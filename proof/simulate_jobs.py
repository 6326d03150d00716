"""Plays histories of jobs with rows by seed, on SQLite in memory or on PostgreSQL: a part of ``make simulate``."""

from __future__ import annotations

import sys

from proof.histories import asked
from proof.jobs.standing import set_up

options = asked("simulate_jobs", __doc__, database="sqlite (default: in memory) or postgresql (slower)")
set_up(options.database or "sqlite")  # before models are imported

from delayhub.local.redis_server import RedisServer  # noqa: E402  as above
from proof.histories import play_all, spare_the_collector  # noqa: E402  as above
from proof.jobs.history import Player, drawn  # noqa: E402  as above
from proof.jobs.site import site  # noqa: E402  as above
from proof.jobs.sometimes import Sometimes  # noqa: E402  as above
from proof.met import Met  # noqa: E402  as above
from proof.quick_redis import QuickRedis  # noqa: E402  as above
from proof.virtual_time import virtual_time  # noqa: E402  as above

#: So many histories come by everything in :class:`Sometimes`.
ENOUGH = 1000


def main() -> int:
    """0 where every history kept all laws, and everything was met."""
    seeds = options.seeds
    spare_the_collector()
    with virtual_time(), RedisServer() as server, site(QuickRedis(server.port), server.url) as made:
        return play_all(Player(made, Met(Sometimes)), map(drawn, seeds), count=len(seeds), enough=ENOUGH)


if __name__ == "__main__":
    sys.exit(main())
