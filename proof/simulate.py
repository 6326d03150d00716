"""Plays histories of messages by seed: a part of ``make simulate``."""

from __future__ import annotations

import sys

from delayhub.local.redis_server import RedisServer
from proof.earlier_release import LAST, EarlierRelease, scripts_of
from proof.histories import asked, play_all, spare_the_collector
from proof.messages.history import Player, drawn
from proof.messages.sometimes import Sometimes
from proof.met import Met
from proof.quick_redis import QuickRedis
from proof.virtual_time import virtual_time

#: So many histories come by everything in :class:`Sometimes`.
ENOUGH = 1000
#: Of the server, in the folder of its data.
SOCKET = "socket"


def main() -> int:
    """0 where every history kept all laws, and everything was met."""
    options = asked("simulate", __doc__, earlier=f"a commit, or {LAST}: some run the scripts of that release")
    spare_the_collector()
    with virtual_time(), RedisServer(config={"unixsocket": SOCKET}) as server:
        client, seeds = QuickRedis(server.port, server.data_dir / SOCKET), options.seeds
        earlier = EarlierRelease(client, scripts_of(options.earlier)) if options.earlier else None
        return play_all(Player(client, Met(Sometimes), earlier), map(drawn, seeds), count=len(seeds), enough=ENOUGH)


if __name__ == "__main__":
    sys.exit(main())
