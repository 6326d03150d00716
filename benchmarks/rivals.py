"""What does a task cost, beside kombu's own Redis transport, celery-redis-plus and potatoq?

Question: CPU of the producer, the server and the worker for a task; tasks a second; bytes of a message; lateness; an
    idle worker's requests; what many waiting tasks take.
Machine: whatever runs it; the worker on one core, Redis and the producer on the last where there are several.
Command: make bench NAME=rivals (OPTIONS="--rounds 5 --count 4000 --waiting 50000" says how much)
    Beside kombu alone, in this environment: OPTIONS="--here --peers delayhub kombu --waiting 0"
Result: a table in Markdown, medians of the rounds with the least and the most, in which the peers take turns; one JSON
    line, with the lateness of all rounds.
Caveat: tasks that do nothing but write 24 bytes to a file, Redis without persistence, one worker. Where other programs
    use the machine, CPU time is what to compare; the figures by the clock are theirs too. The same settings for all:
    four threads or processes, 100 messages prefetched, no events, no results; early acknowledgement.
    potatoq fetches a message for each idle process whatever the settings say; its "solo" is one process.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
from pathlib import Path

from benchmarks.cores import pin
from benchmarks.result import Result, option
from benchmarks.rival_bench import MORE_PARTS, PARTS, RivalBench, Rounds
from benchmarks.rival_peers import PEERS, python_of
from benchmarks.rival_processes import PeerProcesses
from delayhub.local.redis_server import RedisServer
from tests.matrix import NotAtHand

NOT_MEASURED = "not measured"


def main(options: argparse.Namespace) -> Result:
    """A peer that cannot be measured is a row that says so."""
    pythons, missing = environments(options)
    peers = {peer.name: peer for peer in PEERS if peer.name in pythons}
    waiting: dict[str, dict[str, float]] = {}
    with tempfile.TemporaryDirectory(prefix="delayhub-rivals-") as folder, RedisServer() as server:
        pin(server.pid)

        def bench(name: str) -> RivalBench:
            processes = PeerProcesses(peers[name], pythons[name], server, folder=Path(folder))
            return RivalBench(processes, count=options.count, seconds=options.seconds)

        rounds = Rounds(bench, dict.fromkeys(peers, options.parts), number=options.rounds)
        if options.waiting:
            for name in peers:
                waiting[name] = bench(name).waiting(options.waiting)
                print(f"{name}: {waiting[name]}", file=sys.stderr, flush=True)
    return report(rounds, waiting, missing)


def environments(options: argparse.Namespace) -> tuple[dict[str, Path], dict[str, str]]:
    """The Python of each peer's environment, and why others have none."""
    pythons: dict[str, Path] = {}
    missing: dict[str, str] = {}
    for peer in PEERS:
        if peer.name not in options.peers:
            continue
        try:
            pythons[peer.name] = Path(sys.executable) if options.here else python_of(peer)
        except NotAtHand as why:
            missing[peer.name] = str(why)
            print(f"{peer.name} is {NOT_MEASURED}: {why}", file=sys.stderr, flush=True)
    return pythons, missing


def report(rounds: Rounds, waiting: dict[str, dict[str, float]], missing: dict[str, str]) -> Result:
    """Prints the table."""
    names = [*rounds.figures, *missing]
    print(f"| | {' | '.join(names)} |\n|---|{'---|' * len(names)}")
    rows = {figure: [spread(rounds.of(name, figure)) for name in rounds.figures] for figure in rounds.names()}
    for figure in next(iter(waiting.values()), {}):
        rows[f"waiting: {figure}"] = [f"{waiting[name][figure]:g}" for name in rounds.figures]
    for figure, cells in rows.items():
        print(f"| {figure} | {' | '.join([*cells, *(NOT_MEASURED for _ in missing)])} |")
    number = max(map(len, rounds.figures.values()), default=0)
    result = {"rounds": number, "not measured": missing, "waiting": waiting}
    return Result({**result, "lateness": rounds.lateness(), "medians": rounds.medians()})


def spread(values: list[float]) -> str:
    """The median with the least and the most."""
    if not values:
        return "-"
    return f"{short(statistics.median(values))} ({short(min(values))} to {short(max(values))})"


def short(value: float) -> str:
    """Three digits, which is more than such figures are good for."""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


OPTIONS = [
    option("--rounds", 5, "rounds, of which the median counts"),
    option("--count", 4000, "tasks of a measurement"),
    option("--seconds", 5.0, "of lateness and idleness"),
    option("--waiting", 50_000, "tasks with an eta that wait"),
    option("--peers", [peer.name for peer in PEERS], nargs="*"),
    option("--parts", PARTS, f"of a round, of: {', '.join([*PARTS, *MORE_PARTS])}", nargs="*"),
    option("--here", action="store_true", help="in this environment: nothing is installed"),
]
