"""Puts each mistake of messages into the scripts, and plays histories of them: a part of ``make mutants``."""

from __future__ import annotations

import sys

from delayhub.local.redis_server import RedisServer
from proof.catching import asked, catch_all
from proof.histories import spare_the_collector
from proof.messages.history import Player, drawn
from proof.messages.mutants import MUTANTS
from proof.messages.sometimes import Sometimes
from proof.messages.world import Setting
from proof.met import Met
from proof.mutant import Mutant
from proof.plan import Failure
from proof.quick_redis import QuickRedis
from proof.virtual_time import virtual_time


def catch(mutant: Mutant, server: RedisServer, *, most: int) -> tuple[int, Failure[Setting]] | None:
    """How many histories it took until one broke a law, and that one; None where all kept them.

    Raises:
        LookupError: no script has the text that it replaces, so nothing was tried.
    """
    with virtual_time(mutant.change):
        player = Player(QuickRedis(server.port), Met(Sometimes))
        for seed in range(1, most + 1):
            failure = player.play(drawn(seed))
            if failure is not None:
                return seed, failure
    if not mutant.changed:
        raise LookupError(f"no script has the text of {mutant.name!r}")
    return None


def main() -> int:
    """0 where every mistake was caught, but those that are told why they cannot be."""
    options = asked("run_mutants", most=2000, about=__doc__)
    spare_the_collector()
    with RedisServer() as server:
        return catch_all(MUTANTS, lambda mutant, most: catch(mutant, server, most=most), options)


if __name__ == "__main__":
    sys.exit(main())
