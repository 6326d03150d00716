"""Is something lost where a shop moves from kombu's own Redis transport to DelayHub, and back, with all of it in use?

Question: workers and publishers move from ``redis://`` to ``delayhub://`` one by one, by the steps of
    docs/celery/broker.md, while workers of DelayHub are killed with -9; a task's rate limit holds messages back
    (parked), beats of both kinds publish, and there are countdowns, etas, priorities, retries, chains,
    publish_many. Then all stop, one worker by kill -9; everything moves back, and workers of kombu's transport run it.
    How much never runs, is dead, is left behind, or runs twice without a worker having been killed that had begun it?
Machine: whatever runs it.
Command: make chaos NAME=moving
Result: a line and one JSON line; exit code 0 only if nothing was lost, dead or left, nothing ran twice that no kill
    explains, and messages were parked when it moved back.
Caveat: tasks acknowledge late, as in chaos_upgrade. Workers of kombu's transport are not killed: what Redis had sent to
    such a worker, and it had not read yet, is lost (BRPOP takes the message out). One of 2 861 was in a run.
    A worker of kombu's that stops warm may give back a task that it has just finished ("Restoring … unacknowledged
    messages"): that one shows as twice without a kill (1 of 4 206 in a run on a busy machine).
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.chaos_upgrade import BOTH, NEW, QUEUE, WRONG, Fleet, ended, fleet_of, under_kills
from benchmarks.result import Result
from delayhub.engine import DelayQueue
from tests.repository import ROOT

KOMBU = "kombu"
#: Workers of each kind.
PLACES = range(3)


def act(fleet: Fleet, option: str) -> None:
    """Runs a command of ``upgrade_shop.py``."""
    done = fleet.run.start(option.strip("-"), NEW, "upgrade_shop.py", option).wait(120)
    if done:
        raise SystemExit((fleet.run.folder / f"{option.strip('-')}.log").read_text())


def move_over(fleet: Fleet, *, step: float) -> None:
    """One by one, as docs/celery/broker.md says."""
    fleet.begin(*(KOMBU for _ in PLACES))
    fleet.publisher(KOMBU)
    fleet.beat("beat", KOMBU)
    under_kills(fleet, step)
    fleet.end("beat")
    for place in PLACES:
        fleet.replace(place, NEW)
        fleet.beat(f"beat{place}", NEW)
        if not place:
            fleet.publisher(NEW)
        under_kills(fleet, step)
        act(fleet, "--import-ready")
    fleet.end(f"from-{KOMBU}")
    act(fleet, "--import-ready")
    act(fleet, "--import")
    under_kills(fleet, 2 * step)


def move_back(fleet: Fleet, queue: DelayQueue, *, step: float) -> int:
    """How many messages were parked when it began."""
    for place in PLACES:
        fleet.end(f"beat{place}")
    fleet.end(f"from-{NEW}")
    fleet.kill(-1)
    fleet.workers.pop()
    fleet.end_workers()
    parked = queue.count().parked
    deadline = time.monotonic() + 60
    while any(queue.count()) and time.monotonic() < deadline:
        act(fleet, "--export")
    fleet.begin(*(KOMBU for _ in PLACES))
    fleet.publisher(KOMBU)
    time.sleep(step)
    fleet.end(f"from-{KOMBU}")
    return parked


def left_with_kombu(client: Any) -> int:
    """Messages in kombu's lists, and those that its consumers hold."""
    lists = sum(client.llen(key) for key in client.keys(f"{QUEUE}*") if client.type(key) == b"list")
    return int(lists + client.hlen("unacked"))


def main(given: argparse.Namespace) -> Result:
    """Moves over and back, and shows what became of it."""
    with tempfile.TemporaryDirectory() as temporary:
        with fleet_of(given, given.keep or Path(temporary), {NEW: ROOT, KOMBU: ROOT}) as (fleet, queue):
            move_over(fleet, step=given.seconds / 7)
            parked = move_back(fleet, queue, step=given.seconds / 7)
            found = ended(fleet, queue)
            found["left with kombu"] = left_with_kombu(queue.client)
        del found["by earlier workers"]
        for way in ("over", "back"):
            found[f"moved {way}"] = sum(int(words[1]) for words in fleet.run.lines("moved") if words[0] == way)
        found["parked before moving back"] = parked
    return Result(found, bool(parked) and not any(found[what] for what in (*WRONG, "left with kombu")))


OPTIONS = BOTH
