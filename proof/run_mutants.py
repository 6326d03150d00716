"""Puts each mistake of the tables into the scripts, and plays histories until one breaks a law: ``make mutants``."""

from __future__ import annotations

import argparse
import json
import sys
import time

import redis

from delayhub.local.redis_server import RedisServer
from proof.messages.history import Failure, Plan, Player
from proof.messages.mutants import MUTANTS
from proof.met import Met
from proof.mutant import Mutant
from proof.virtual_time import virtual_time


def catch(mutant: Mutant, server: RedisServer, *, most: int) -> tuple[int, Failure] | None:
    """How many histories it took until one broke a law, and that one; None where all kept them.

    Raises:
        LookupError: no script has the text that it replaces, so nothing was tried.
    """
    with virtual_time(mutant.change):
        player = Player(redis.Redis(port=server.port), Met())
        for seed in range(1, most + 1):
            failure = player.play(Plan.drawn(seed))
            if failure is not None:
                return seed, failure
    if not mutant.changed:
        raise LookupError(f"no script has the text of {mutant.name!r}")
    return None


def main() -> int:
    """0 where every mutant was caught, but those that are told why they cannot be."""
    parser = argparse.ArgumentParser(prog="mutants", description=__doc__)
    parser.add_argument("--most", type=int, default=2000, help="histories a mutant (default: 2000)")
    parser.add_argument("--only", default="", help="those whose names have this in them")
    options = parser.parse_args()
    survivors, began = [], time.monotonic()
    asked = [mutant for mutant in MUTANTS if options.only in mutant.name]
    with RedisServer() as server:
        for mutant in asked:
            if mutant.equivalent:
                print(f"{mutant.name}: not run, since {mutant.equivalent}")
                continue
            found = catch(mutant, server, most=options.most)
            if found is None:
                survivors.append(mutant.name)
            print(f"{mutant.name}: {f'history {found[0]}: {found[1].broken}' if found else 'SURVIVES'}", flush=True)
    result = {"mutants": len(asked), "survivors": survivors, "seconds": round(time.monotonic() - began, 1)}
    print(json.dumps(result))
    return 1 if survivors else 0


if __name__ == "__main__":
    sys.exit(main())
