"""Plays the histories of a run, tells the shortest of each kind that breaks a law, and ends with one line of JSON."""

from __future__ import annotations

import argparse
import gc
import json
import time
from collections.abc import Iterable
from typing import Protocol, TypeVar

from proof.met import Met
from proof.plan import Failure, Plan

Setting = TypeVar("Setting")


class Plays(Protocol[Setting]):
    """What plays histories of one sort."""

    @property
    def met(self) -> Met: ...

    @property
    def verbs(self) -> int: ...

    def play(self, plan: Plan[Setting]) -> Failure[Setting] | None: ...

    def shrink(self, failure: Failure[Setting]) -> Failure[Setting]: ...


def asked(prog: str, about: str | None, **more: str) -> argparse.Namespace:
    """What the command line asks for: ``seeds``, and each of the others, with what help says of it."""
    parser = argparse.ArgumentParser(prog=prog, description=about)
    parser.add_argument("--seed", type=int, default=1, help="of the first history (default: 1)")
    parser.add_argument("--count", type=int, default=2000, help="of histories (default: 2000)")
    for name, text in more.items():
        parser.add_argument(f"--{name}", help=text)
    options = parser.parse_args()
    options.seeds = range(options.seed, options.seed + options.count)
    return options


def spare_the_collector() -> None:
    """Lets the garbage collector leave what is loaded, and look seldom: else it takes a third of a history of jobs."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 20)


def play_all(player: Plays[Setting], plans: Iterable[Plan[Setting]], *, count: int, enough: int) -> int:
    """0 where every history kept all laws, and everything was met.

    Args:
        player: plays them.
        plans: the histories.
        count: how many that are.
        enough: so many histories come by everything; of fewer, nothing is asked.
    """
    failures: dict[str, Failure[Setting]] = {}
    began, used = time.monotonic(), time.process_time()
    for plan in plans:
        failure = player.play(plan)
        if failure is not None and failure.broken.kind not in failures:
            failures[failure.broken.kind] = player.shrink(failure)
    verbs = player.verbs
    for failure in failures.values():
        print(f"seed {failure.plan.seed}, {failure.plan.setting}")
        print(*failure.story, "", sep="\n")
    never = player.met.never if count >= enough else []
    for what in never:
        print(f"no history met: {what}")
    result = {
        "histories": count,
        "verbs": verbs,
        "kinds of failure": {kind: failure.plan.seed for kind, failure in failures.items()},
        "met": {what.value: met for what, met in player.met.counts.items()},
        "seconds": round(time.monotonic() - began, 1),
        "seconds of CPU without Redis": round(time.process_time() - used, 1),
    }
    print(json.dumps(result))
    return 1 if failures or never else 0
