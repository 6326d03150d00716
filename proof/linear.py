"""Plays histories of concurrent verbs on one job over REST; some order has to explain each: ``make linear``."""

from __future__ import annotations

import argparse
import asyncio
import json
import resource
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence

from proof.order.drawing import Plan
from proof.order.explaining import shortest_story
from proof.order.mistakes import MISTAKES
from proof.order.playing import Played, play_all
from proof.order.receiver import Receiver
from proof.order.site import WEB_PROCESSES, order_site

#: How many stories are told of a run.
TOLD = 3
#: After so many histories it says how far it is.
SAID_EVERY = 100


async def played(
    database: str,
    plans: Sequence[Plan],
    *,
    processes: int = WEB_PROCESSES,
    mistake: str = "",
    heard: Callable[[Played], None] = lambda one: None,
) -> list[Played]:
    """The histories, played on a new site with that database."""
    async with Receiver().listening() as receiver:
        with order_site(database, receiver_port=receiver.port, processes=processes, mistake=mistake) as site:
            return await play_all(site, receiver, plans, heard=heard)


def main() -> int:
    """0 where some order explains each history; with ``--mistake``, where none explains one of them."""
    parser = argparse.ArgumentParser(prog="linear", description=__doc__)
    parser.add_argument("--database", choices=["sqlite", "postgresql"], required=True)
    parser.add_argument("--seed", type=int, default=1, help="of the first history (default: 1)")
    parser.add_argument("--count", type=int, default=2000, help="of histories (default: 2000)")
    parser.add_argument("--mistake", choices=list(MISTAKES), default="", help="put into the site's verbs")
    asked = parser.parse_args()
    began = time.monotonic()
    plans = [Plan.drawn(seed) for seed in range(asked.seed, asked.seed + asked.count)]
    unexplained: list[Played] = []
    judged = 0

    def judge(one: Played) -> None:
        nonlocal judged
        judged += 1
        if not one.is_explained:
            unexplained.append(one)
            if len(unexplained) <= TOLD:
                print(f"no order explains history {one.plan.seed}, whose job was {one.plan.beginning}:")
                print(*shortest_story(one.events), "", sep="\n", flush=True)
        if judged % SAID_EVERY == 0:
            print(f"{judged} histories, {len(unexplained)} unexplained", file=sys.stderr, flush=True)

    found = asyncio.run(played(asked.database, plans, mistake=asked.mistake, heard=judge))
    answers = Counter(f"{e.asked.verb} {e.answer.code or e.answer.status}" for one in found for e in one.events)
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    result = {
        "database": asked.database,
        "first seed": asked.seed,
        "histories": len(found),
        "events": sum(answers.values()),
        "unexplained": [one.plan.seed for one in unexplained],
        "answers": dict(sorted(answers.items())),
        "seconds": round(time.monotonic() - began, 1),
        "cpu seconds": round(sum(each.ru_utime + each.ru_stime for each in used), 1),
    }
    print(json.dumps(result))
    return int(bool(unexplained) is not bool(asked.mistake))


if __name__ == "__main__":
    sys.exit(main())
