"""What does a task cost, beside kombu's own Redis transport, celery-redis-plus and potatoq?

Question: CPU of the producer, the server and the worker for a task; tasks a second; bytes of a message; lateness; an
    idle worker's requests; what many waiting tasks take; what is lost or runs twice when workers are killed by -9.
Machine: whatever runs it; the worker on one core, Redis and the producer on the last where there are several.
Command: make bench NAME=rivals (OPTIONS="--rounds 5 --count 4000 --waiting 50000 --kills 5" says how much)
Result: a table in Markdown, medians of the rounds with the least and the most, in which the peers take turns; the
    lateness of all rounds as a sketch; one JSON line.
Caveat: tasks that do nothing but write 24 bytes to a file, Redis without persistence, one worker. Where other programs
    use the machine, CPU time is what to compare; the figures by the clock are theirs too. The same settings for all:
    four threads or processes, 100 messages prefetched, no events, no results; early acknowledgement, but late in the
    kill runs. potatoq fetches a message for each idle process whatever the settings say; its "solo" is one process.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from benchmarks.children import run_main
from benchmarks.distribution import ENOUGH, Distribution
from benchmarks.rival_bench import PARTS, RivalBench
from benchmarks.rival_peers import PEERS, Peer, python_of
from benchmarks.rival_processes import OTHER_CORE, PeerProcesses
from delayhub.local.redis_server import RedisServer
from tests.matrix import NotAtHand

NOT_MEASURED = "not measured"


def main() -> int:
    """The exit code; a peer that cannot be measured is a row that says so."""
    options = parsed()
    pythons, missing = environments(options)
    peers = [peer for peer in PEERS if peer.name in pythons]
    rounds: dict[str, list[dict[str, float]]] = {peer.name: [] for peer in peers}
    late_ms: dict[str, list[float]] = {peer.name: [] for peer in peers}
    extra: dict[str, dict[str, dict[str, float]]] = {"waiting": {}, "kills": {}}
    with tempfile.TemporaryDirectory(prefix="delayhub-rivals-") as folder, RedisServer() as server:
        pin(server)

        def bench(peer: Peer, server: RedisServer, *, is_pinned: bool = True) -> RivalBench:
            processes = PeerProcesses(
                peer, pythons[peer.name], server, folder=Path(folder), is_pinned=is_pinned and not options.here
            )
            return RivalBench(processes, count=options.count, seconds=options.seconds)

        def killed(peer: Peer) -> dict[str, float]:
            with RedisServer() as own:
                return bench(peer, own, is_pinned=False).kills(
                    count=options.killed, kills=options.kills, patience=options.patience
                )

        for number in range(options.rounds):
            for peer in peers:
                one = bench(peer, server)
                rounds[peer.name].append(one.run(options.parts))
                late_ms[peer.name] += one.late_ms
                print(
                    f"round {number + 1} of {options.rounds}, {peer.name}: {one.figures}", file=sys.stderr, flush=True
                )
        if options.waiting:
            for peer in peers:
                extra["waiting"][peer.name] = bench(peer, server).waiting(options.waiting)
                print(f"{peer.name}: {extra['waiting'][peer.name]}", file=sys.stderr, flush=True)
        if options.kills:  # only counted, so all at once
            with ThreadPoolExecutor(len(peers)) as pool:
                extra["kills"] = dict(zip(rounds, pool.map(killed, peers), strict=True))
    report(rounds, extra, late_ms, missing)
    return 0


def parsed() -> argparse.Namespace:
    """What the command line says."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5, help="rounds, of which the median counts (default: 5)")
    parser.add_argument("--count", type=int, default=4000, help="tasks of a measurement (default: 4000)")
    parser.add_argument("--seconds", type=float, default=5.0, help="of lateness and idleness (default: 5)")
    parser.add_argument("--waiting", type=int, default=50_000, help="tasks with an eta that wait (default: 50000)")
    parser.add_argument("--killed", type=int, default=2000, help="tasks of the kill runs (default: 2000)")
    parser.add_argument("--kills", type=int, default=5, help="kills of a worker (default: 5)")
    parser.add_argument("--patience", type=float, default=150.0, help="for lost messages, in seconds (default: 150)")
    parser.add_argument("--peers", nargs="*", default=[peer.name for peer in PEERS])
    parser.add_argument("--parts", nargs="*", default=PARTS, help=f"of a round, of: {', '.join(PARTS)}")
    parser.add_argument("--here", action="store_true", help="in this environment, and on all cores: for a short try")
    return parser.parse_args()


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


def pin(server: RedisServer) -> None:
    """Gives the server the last core."""
    if server.pid is not None:
        os.sched_setaffinity(server.pid, {OTHER_CORE})


def report(
    rounds: dict[str, list[dict[str, float]]],
    extra: dict[str, dict[str, dict[str, float]]],
    late_ms: dict[str, list[float]],
    missing: dict[str, str],
) -> None:
    """Prints the table, the sketches and the JSON line."""
    names = [*rounds, *missing]
    print(f"| | {' | '.join(names)} |\n|---|{'---|' * len(names)}")
    figures = list(dict.fromkeys(name for found in rounds.values() for one in found for name in one))
    for figure in figures:
        cells = [spread([one[figure] for one in rounds[name] if figure in one]) for name in rounds]
        print(f"| {figure} | {' | '.join([*cells, *(NOT_MEASURED for _ in missing)])} |")
    for kind, found in extra.items():
        for figure in next(iter(found.values()), {}):
            cells = [f"{found[name][figure]:g}" for name in rounds]
            print(f"| {kind}: {figure} | {' | '.join([*cells, *(NOT_MEASURED for _ in missing)])} |")
    distributions: dict[str, Any] = {}
    for name, times in late_ms.items():
        if not times:
            continue
        found_late = Distribution([max(0.0, late) for late in times])
        distributions[name] = found_late.figures()
        print(f"\nlateness of {name}, ms, {len(times)} tasks: {distributions[name]}")
        if len(times) >= ENOUGH:
            print(f"modes: {'; '.join(map(str, found_late.modes()))}\n{found_late.sketch()}")
    medians: dict[str, dict[str, float]] = {}
    for name, seen in rounds.items():
        values = {figure: [one[figure] for one in seen if figure in one] for figure in figures}
        medians[name] = {figure: round(statistics.median(those), 3) for figure, those in values.items() if those}
    result = {"benchmark": "rivals", "rounds": max(map(len, rounds.values()), default=0), "not measured": missing}
    print(json.dumps({**result, **extra, "lateness": distributions, "medians": medians}))


def spread(values: list[float]) -> str:
    """The median with the least and the most."""
    if not values:
        return "-"
    return f"{short(statistics.median(values))} ({short(min(values))} to {short(max(values))})"


def short(value: float) -> str:
    """Three digits, which is more than such figures are good for."""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


if __name__ == "__main__":
    sys.exit(run_main(main))
