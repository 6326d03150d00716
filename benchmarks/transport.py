"""What does the transport cost, beside kombu's own Redis transport?

Question: tasks a second by pool, how long a burst of tasks due at one instant takes, lateness, publishes a second (one
    by one, with an eta, in batches), requests of an idle worker, memory of the worker and of Redis for waiting tasks.
    And what lateness looks like: a second mode in its distribution has a cause, which a median and a p99 hide.
Machine: whatever runs it; the worker on one core, Redis and the producer on the last where there are several.
    Compare ratios within one run, not figures between runs.
Command: make bench NAME=transport
Result: a table, a sketch of each distribution of lateness over all rounds, and one JSON line; medians of the rounds,
    in which both transports take turns so that the machine's drift meets both. The exit code is 1 where the lateness
    of delayhub:// has more than one mode.
Caveat: tasks that do nothing but write 24 bytes, Redis without persistence, one worker, Celery's default of early
    acknowledgement.
"""

from __future__ import annotations

import argparse
import math
import sys
import tempfile
from pathlib import Path

from benchmarks.cores import pin
from benchmarks.result import Result, option
from benchmarks.rival_bench import RivalBench, Rounds
from benchmarks.rival_peers import PEERS
from benchmarks.rival_processes import PeerProcesses
from delayhub.local.redis_server import RedisServer

USUAL = ("publish", "solo", "threads", "burst", "late-threads-200", "late-threads-2000", "idle")
#: With the solo pool, kombu's worker starts about 20 tasks with an eta a second here: its lateness is the length of the
#: measurement.
PARTS = {"kombu": USUAL, "delayhub": (*USUAL, "late-solo-200", "late-solo-2000")}


def main(options: argparse.Namespace) -> Result:
    peers = {peer.name: peer for peer in PEERS if peer.name in PARTS}
    with RedisServer() as server, tempfile.TemporaryDirectory(prefix="delayhub-bench-") as folder:
        pin(server.pid)

        def bench(name: str) -> RivalBench:
            processes = PeerProcesses(peers[name], Path(sys.executable), server, folder=Path(folder), is_pinned=True)
            return RivalBench(processes, count=options.count, seconds=options.seconds)

        rounds = Rounds(bench, PARTS, number=options.rounds)
        with server.client() as client:
            version = client.info("server")["redis_version"]
    medians = rounds.medians()
    print(f"{'':36}{'kombu':>14}{'delayhub':>14}{'ratio':>10}")
    for name, ours in medians["delayhub"].items():
        theirs = medians["kombu"].get(name, math.nan)
        print(f"{name:36}{theirs:14.2f}{ours:14.2f}{ours / theirs if theirs else math.nan:10.2f}")
    late = rounds.lateness()
    wrong = [name for name, found in late.items() if name.startswith("delayhub") and len(found["modes"]) > 1]
    for name in wrong:
        print(f"the lateness of {name} has {len(late[name]['modes'])} modes: {late[name]['modes']}", file=sys.stderr)
    about = {"redis_version": version, "count": options.count, "rounds": options.rounds}
    return Result({**about, **medians, "lateness": late}, not wrong)


OPTIONS = [
    option("--count", 20_000, "tasks a measurement"),
    option("--seconds", 5.0, "of lateness and idleness"),
    option("--rounds", 5, "rounds, of which the median counts"),
]
