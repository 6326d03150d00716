"""Do workers and publishers of this release and of an earlier one work beside each other on one Redis?

Question: while workers of either release are killed with -9, publishers of either release publish plain tasks, tasks
    with a countdown, an eta, a priority, a rate limit, with retries, in chains, and by publish_many; beats publish
    periodic ones. How many of what was published never runs, is dead, or runs twice without a worker having been killed
    that had begun it? Four runs: earlier workers with new publishers, new workers with earlier publishers, workers
    replaced one by one until all are new and then back (limits lifted before), and back without lifting them.
Machine: whatever runs it.
Command: make chaos NAME=upgrade [OPTIONS="--ref commit"]
Result: a table and one JSON line; exit code 0 only if nothing was lost, nothing is dead, and nothing ran twice that no
    kill explains.
Caveat: tasks acknowledge late, so one whose worker is killed while it runs runs again.
"""

from __future__ import annotations

import argparse
import random
import shutil
import subprocess
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from benchmarks.processes import QUIET, kill_group, start, words_of
from benchmarks.result import Result, option
from delayhub.engine import DelayQueue, Place
from delayhub.local.redis_server import RedisServer
from tests.repository import ROOT

#: The commit before the first of what is new in how tasks are published and claimed: publishes that happen once, limits
#: in the claim, shared schedules, publish_many.
EARLIER = "c6c7b67c^"
OLD, NEW = "earlier", "new"
POOLS = (("prefork", 2), ("threads", 4), ("prefork", 2), ("solo", 1))
QUEUE = "celery"
#: Of none of these may there be any.
WRONG = ("never begun", "dead", "left in Redis", "twice without a kill")


class Run(NamedTuple):
    """What belongs together on one Redis."""

    folder: Path
    trees: dict[str, Path]
    port: int
    pause: float
    chance: random.Random

    def start(self, name: str, release: str, *command: str) -> subprocess.Popen[bytes]:
        """A process of a release, which writes into a log of its own."""
        environment = {
            "PYTHONPATH": str(self.trees[release]),
            "UPGRADE_FOLDER": str(self.folder),
            "UPGRADE_RELEASE": release,
            "UPGRADE_BROKER": f"{'redis' if release == 'kombu' else 'delayhub'}://127.0.0.1:{self.port}/0",
            "UPGRADE_PAUSE": str(self.pause),
        }
        return start(command, log=self.folder / f"{name}.log", cwd=self.folder, **environment)

    def lines(self, name: str) -> list[list[str]]:
        """The words of the lines of a file that the processes write."""
        return words_of(self.folder / name)


class Fleet:
    """Workers, publishers and beats of a run."""

    def __init__(self, run: Run, *, kill_every: float) -> None:
        self.run = run
        self.kill_every = kill_every
        self.next_kill = time.monotonic() + kill_every
        self.workers: list[tuple[str, str, subprocess.Popen[bytes]]] = []
        self.others: dict[str, subprocess.Popen[bytes]] = {}
        #: Of each killed worker's name, when that was.
        self.kills: list[tuple[str, float]] = []
        self._number = 0

    def begin(self, *releases: str) -> None:
        """Starts a worker of each release."""
        self.workers = [self._worker(release, place) for place, release in enumerate(releases)]

    def _worker(self, release: str, place: int) -> tuple[str, str, subprocess.Popen[bytes]]:
        self._number += 1
        pool, size = POOLS[place % len(POOLS)]
        name = f"{release}{self._number}@here"
        options = ["-P", pool, "-c", str(size), "-n", name, "-l", "INFO", *QUIET]
        process = self.run.start(name, release, "-m", "celery", "-A", "upgrade_shop", "worker", *options)
        return release, name, process

    def replace(self, place: int, release: str) -> None:
        """Stops a worker, warm, and starts one of a release in its place."""
        self.workers[place][2].terminate()
        self.workers[place][2].wait(60)
        self.workers[place] = self._worker(release, place)

    def kill(self, place: int) -> None:
        """Kills a worker with all its processes."""
        _, name, process = self.workers[place]
        kill_group(process)
        self.kills.append((name, time.time()))  # noqa: TID251  compared with what the tasks wrote

    def kill_one(self) -> None:
        """Kills a worker of DelayHub's, and starts it again."""
        places = [place for place, (release, _, _) in enumerate(self.workers) if release in (OLD, NEW)]
        if places:
            place = self.run.chance.choice(places)
            self.kill(place)
            self.workers[place] = self._worker(self.workers[place][0], place)

    def end_workers(self) -> None:
        """Stops all workers, warm."""
        for _, _, process in self.workers:
            process.terminate()
        for _, _, process in self.workers:
            process.wait(60)

    def publisher(self, release: str) -> None:
        """Starts a publisher."""
        self.others[f"from-{release}"] = self.run.start(
            f"from-{release}", release, "upgrade_shop.py", f"from-{release}"
        )

    def beat(self, name: str, release: str) -> None:
        """Starts a beat."""
        options = ["-s", f"{name}.schedule", "--pidfile", ""]
        self.others[name] = self.run.start(name, release, "-m", "celery", "-A", "upgrade_shop", "beat", *options)

    def end(self, name: str) -> None:
        """Stops a publisher or a beat."""
        (self.run.folder / f"stop-{name}").touch()
        process = self.others.pop(name)
        if not name.startswith("from-"):
            process.terminate()
        assert process.wait(60) is not None
        assert not name.startswith("from-") or process.returncode == 0, (self.run.folder / f"{name}.log").read_text()

    def stop(self) -> None:
        """Kills all that runs."""
        for process in [*self.others.values(), *(process for _, _, process in self.workers)]:
            kill_group(process)


# ---------------------------------------------------------------- the four runs


def old_workers(fleet: Fleet, seconds: float) -> None:
    """Publishers are replaced first."""
    fleet.begin(OLD, OLD, OLD)
    fleet.publisher(NEW)
    fleet.beat("beat", NEW)
    fleet.beat("beat2", NEW)
    under_kills(fleet, seconds)
    fleet.end("beat")
    fleet.end("beat2")
    fleet.end(f"from-{NEW}")


def new_workers(fleet: Fleet, seconds: float) -> None:
    """Workers are replaced first."""
    fleet.begin(NEW, NEW, NEW)
    fleet.publisher(OLD)
    fleet.beat("beat", OLD)
    under_kills(fleet, seconds)
    fleet.end("beat")
    fleet.end(f"from-{OLD}")


def over_and_back(fleet: Fleet, seconds: float, *, lifts: bool = True) -> None:
    """One by one, with both kinds of publishers all the time; then back."""
    places = range(3)
    fleet.begin(*(OLD for _ in places))
    fleet.publisher(OLD)
    fleet.publisher(NEW)
    fleet.beat("beat", OLD)
    step = seconds / 8
    under_kills(fleet, step)
    fleet.end("beat")  # before the first of those that share a schedule
    for place in places:
        fleet.replace(place, NEW)
        fleet.beat(f"beat{place}", NEW)
        under_kills(fleet, step)
    under_kills(fleet, step)
    for place in places:
        fleet.end(f"beat{place}")
    if lifts:
        assert fleet.run.start("lift", NEW, "upgrade_shop.py", "--lift").wait(60) == 0
    for place in places:
        fleet.replace(place, OLD)
        under_kills(fleet, step)
    for release in (OLD, NEW):
        fleet.end(f"from-{release}")


def back_unlifted(fleet: Fleet, seconds: float) -> None:
    """The wrong way back, and over again."""
    over_and_back(fleet, seconds, lifts=False)
    settle(fleet)
    unseen = len(published(fleet.run)) - len(begun(fleet.run).keys() & published(fleet.run))
    (fleet.run.folder / "unseen").write_text(f"{unseen}\n")
    fleet.replace(0, NEW)


RUNS: dict[str, Callable[[Fleet, float], None]] = {
    "earlier workers, new publishers": old_workers,
    "new workers, earlier publishers": new_workers,
    "one by one, and back": over_and_back,
    "back without lifting limits": back_unlifted,
}


def under_kills(fleet: Fleet, seconds: float) -> None:
    """Lets time pass, with a kill now and then."""
    end = time.monotonic() + seconds
    while (now := time.monotonic()) < end:
        time.sleep(max(0.0, min(fleet.next_kill, end) - now))
        if time.monotonic() >= fleet.next_kill:
            fleet.kill_one()
            fleet.next_kill += fleet.kill_every


def settle(fleet: Fleet, *, quiet_seconds: float = 8.0) -> None:
    """Waits until all that was published has run, or nothing has begun for a while."""
    wanted, seen, since = published(fleet.run), -1, time.monotonic()
    while not wanted <= begun(fleet.run).keys() and time.monotonic() < since + quiet_seconds:
        now = len(fleet.run.lines("ran"))
        if now != seen:
            seen, since = now, time.monotonic()
        time.sleep(0.2)


# ---------------------------------------------------------------- what became of it


def published(run: Run) -> set[str]:
    """The keys of tasks whose publish returned."""
    return {key for (key,) in run.lines("published")}


def begun(run: Run, *, file: str = "ran") -> dict[str, list[tuple[str, float]]]:
    """Of each key, in which workers and when its task began."""
    found = defaultdict(list)
    for key, worker, _, at in run.lines(file):
        found[key].append((worker, float(at)))
    return found


def unexplained(fleet: Fleet) -> dict[str, list[tuple[str, float]]]:
    """What began twice although no worker was killed that had begun it, or what published it.

    A worker that is killed before it acknowledges a task has it run again, with all that the task publishes: its retry,
    and the next of its chain.
    """
    runs, tried, killed = begun(fleet.run), begun(fleet.run, file="tried"), dict(fleet.kills)

    def was_killed(key: str) -> bool:
        own = sorted(runs.get(key, []), key=last)[:-1] + tried.get(key, [])
        rest, _, number = key.rpartition("-")
        earlier = (
            [before for one in range(1, int(number)) for before in runs[f"{rest}-{one}"]] if "chain" in rest else []
        )
        return any(killed.get(name, 0) >= at for name, at in own + earlier)

    return {key: at for key, at in runs.items() if len(at) > 1 and not was_killed(key)}


def judged(fleet: Fleet, queue: DelayQueue) -> dict[str, int]:
    """The figures of a run."""
    run, runs = fleet.run, begun(fleet.run)
    again, twice = sum(len(at) > 1 for at in runs.values()), unexplained(fleet)
    counts = queue.count()
    found = {
        "kills": len(fleet.kills),
        "published": len(published(run)),
        "periodic": sum(key.startswith("tick:") for key in runs),
        "by earlier workers": sum(release == OLD for _, _, release, _ in run.lines("ran")),
        "never begun": len(published(run) - runs.keys()),
        "dead": counts.dead,
        "left in Redis": counts.waiting + counts.ready + counts.leased + counts.parked,
        "again after a kill": again - len(twice),
        "twice without a kill": len(twice),
    }
    unseen = run.folder / "unseen"
    if unseen.exists():
        found["unseen by earlier workers"] = int(unseen.read_text())
    for key in sorted(published(run) - runs.keys())[:10]:
        print("never begun:", key)
    for key, at in list(twice.items())[:10]:
        print("twice:", key, at)
    for dead in queue.list(Place.DEAD, limit=10):
        print("dead:", dead.id, dead.reason)
    return found


def last(begun_at: tuple[str, float]) -> float:
    """When a task began."""
    return begun_at[1]


@contextmanager
def fleet_of(asked: argparse.Namespace, folder: Path, trees: dict[str, Path]) -> Iterator[tuple[Fleet, DelayQueue]]:
    """Nothing that runs yet, on a Redis of its own, and the queue there; what was started ends with the block."""
    folder.mkdir(exist_ok=True)
    shutil.copy(ROOT / "benchmarks" / "upgrade_shop.py", folder)
    with RedisServer(append_only=False) as server, server.client() as client:
        run = Run(folder, trees, server.port, asked.pause, random.Random(1))
        fleet = Fleet(run, kill_every=asked.kill_every)
        try:
            yield fleet, DelayQueue(client, QUEUE)
        finally:
            fleet.stop()


def ended(fleet: Fleet, queue: DelayQueue) -> dict[str, int]:
    """Waits until all has run, ends the workers, and gives the figures."""
    settle(fleet, quiet_seconds=20)
    fleet.end_workers()
    return judged(fleet, queue)


def tree_of(ref: str, folder: Path) -> Path:
    """The files of a commit, in a folder of their own."""
    folder.mkdir()
    packed = subprocess.run(["git", "archive", ref, "delayhub"], cwd=ROOT, capture_output=True, check=True).stdout
    subprocess.run(["tar", "-x", "-C", folder], input=packed, check=True)
    return folder


def main(given: argparse.Namespace) -> Result:
    """Does the runs one after the other, and shows what they found."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = given.keep or Path(temporary)
        folder.mkdir(exist_ok=True)
        trees = {OLD: tree_of(given.ref, folder / "earlier-release"), NEW: ROOT}
        found = {}
        for number, name in enumerate(given.run or RUNS):
            with fleet_of(given, folder / f"run{number}", trees) as (fleet, queue):
                RUNS[name](fleet, given.seconds)
                found[name] = ended(fleet, queue)
            print(f"{name}: {found[name]}", flush=True)
    return Result(found, not any(figures[what] for figures in found.values() for what in WRONG))


#: What this run and ``chaos_moving`` may be asked.
BOTH = [
    option("--seconds", 48.0, "how long each run publishes"),
    option("--kill-every", 4.0, "seconds between kills"),
    option("--pause", 0.04, "seconds between publishes"),
    option("--keep", type=Path, help="a folder for the logs, which stays"),
]
OPTIONS = [
    *BOTH,
    option("--ref", EARLIER, "the commit of the earlier release"),
    option("--run", action="append", choices=sorted(RUNS), help="only this one; may be given again"),
]
