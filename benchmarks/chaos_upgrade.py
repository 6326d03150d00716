"""Is something lost where workers and publishers are replaced one by one, by another release or another transport?

Question: while workers are killed with -9, publishers of both kinds publish plain tasks, tasks with a countdown, an
    eta, a priority, a rate limit, with retries, in chains, and by publish_many; beats publish periodic ones. How many
    never run, are dead or left, or run twice without a worker having been killed that had begun them?
    release: workers of the last release (before the first one: of the last commit) are replaced one by one until all
        are new, and then back; limits are lifted at last by this release;
    kombu: a shop moves from ``redis://`` to ``delayhub://`` by the steps of docs/celery/moving.md, and back, where
        messages are parked, with a last worker killed.
Machine: whatever runs it.
Command: make chaos NAME=upgrade [OPTIONS="--ref commit"]
Result: a table and one JSON line; exit code 0 only if nothing was lost, dead or left, nothing ran twice that no kill
    explains, and some messages were parked when it moved back to kombu's.
Caveat: tasks acknowledge late, so one whose worker is killed while it runs runs again. Workers of kombu's transport are
    not killed: what Redis had sent to such a worker, and it had not read yet, is lost (BRPOP takes the message out). A
    worker of kombu's that stops warm may give back a task that it has just finished: one of 4 206 in a run.
"""

from __future__ import annotations

import argparse
import random
import shutil
import subprocess
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.processes import Fleet, is_soon, kill_group, start, words_of
from benchmarks.result import Result, judged, option
from delayhub.engine import DelayQueue, Place
from delayhub.local.redis_server import RedisServer
from proof.earlier_release import last_release, tree_of
from tests.repository import ROOT

OLD, NEW, KOMBU = "earlier", "new", "kombu"
#: The workers, one at each place.
CREW = ("-P prefork -c 2 -l INFO", "-P threads -c 4 -l INFO", "-P prefork -c 2 -l INFO")
QUEUE = "celery"
#: Of none of these may there be any.
WRONG = ("never begun", "dead", "left in Redis", "left with kombu", "twice without a kill")


class Shop:
    """Workers, publishers and beats on one Redis, of which each has a release.

    Args:
        folder: where they write, and their logs go.
        trees: where the code of each release is.
        queue: theirs.
        port: of Redis.
        asked: seconds between kills and publishes.
    """

    def __init__(
        self, folder: Path, trees: dict[str, Path], queue: DelayQueue, port: int, asked: argparse.Namespace
    ) -> None:
        folder.mkdir()
        shutil.copy(ROOT / "benchmarks" / "upgrade_shop.py", folder)
        self.folder, self.trees, self.queue, self.port, self.asked = folder, trees, queue, port, asked
        self.step = asked.seconds / 7
        self.places: list[Fleet] = []
        self.others: dict[str, subprocess.Popen[bytes]] = {}
        self.kills: list[tuple[str, float]] = []
        self.chance = random.Random(1)
        self.next_kill = time.monotonic() + asked.kill_every

    def environment(self, release: str) -> dict[str, str]:
        """What a process of a release is told."""
        return {
            "PYTHONPATH": str(self.trees[release]),
            "UPGRADE_FOLDER": str(self.folder),
            "UPGRADE_RELEASE": release,
            "UPGRADE_BROKER": f"{'redis' if release == KOMBU else 'delayhub'}://127.0.0.1:{self.port}/0",
            "UPGRADE_PAUSE": str(self.asked.pause),
        }

    def begin(self, release: str) -> None:
        """Starts all workers."""
        self.places = [self._worker(place, release) for place in range(len(CREW))]

    def replace(self, place: int, release: str) -> None:
        """Stops a worker, warm, and starts one of a release in its place."""
        self.kills += self.places[place].kills
        self.places[place].end()
        self.places[place] = self._worker(place, release)

    def _worker(self, place: int, release: str) -> Fleet:
        logs = self.folder / f"place{place}"
        logs.mkdir(exist_ok=True)
        return Fleet(logs, "upgrade_shop", CREW[place : place + 1], cwd=self.folder, **self.environment(release))

    def launch(self, name: str, release: str, *command: str) -> None:
        """Starts a publisher or a beat."""
        log = self.folder / f"{name}.log"
        self.others[name] = start(command, log=log, cwd=self.folder, **self.environment(release))

    def publisher(self, release: str) -> None:
        """Starts a publisher."""
        self.launch(f"from-{release}", release, "upgrade_shop.py", f"from-{release}")

    def beat(self, name: str, release: str) -> None:
        """Starts a beat."""
        options = ["-s", f"{name}.schedule", "--pidfile", ""]
        self.launch(name, release, "-m", "celery", "-A", "upgrade_shop", "beat", *options)

    def end(self, *names: str) -> None:
        """Stops publishers and beats."""
        for name in names:
            (self.folder / f"stop-{name}").touch()
            process, is_publisher = self.others.pop(name), name.startswith("from-")
            if not is_publisher:
                process.terminate()
            assert process.wait(60) == 0 or not is_publisher, (self.folder / f"{name}.log").read_text()

    def act(self, option: str) -> None:
        """Does what a person does, by a command of ``upgrade_shop.py`` and this release."""
        self.launch("act", NEW, "upgrade_shop.py", option)
        assert self.others.pop("act").wait(120) == 0, (self.folder / "act.log").read_text()

    def under_kills(self, *, steps: int = 1) -> None:
        """Lets time pass; now and then a worker of DelayHub's is killed with -9 and started again."""
        end = time.monotonic() + steps * self.step
        while (now := time.monotonic()) < end:
            time.sleep(max(0.0, min(self.next_kill, end) - now))
            mortal = [fleet for fleet in self.places if fleet.environment["UPGRADE_RELEASE"] != KOMBU]
            if mortal and time.monotonic() >= self.next_kill:
                self.chance.choice(mortal).kill(0)
                self.next_kill = time.monotonic() + self.asked.kill_every

    def settle(self, *, quiet_seconds: float) -> int:
        """Waits until all that was published has run, or nothing has begun for a while; how many have not run."""
        last = [0, time.monotonic()]

        def is_quiet() -> bool:
            begun = len(words_of(self.folder / "ran"))
            if begun != last[0]:
                last[:] = begun, time.monotonic()
            return not self.unseen() or time.monotonic() > last[1] + quiet_seconds

        is_soon(is_quiet, within_seconds=300)
        return len(self.unseen())

    def unseen(self) -> set[str]:
        """The keys of tasks whose publish returned, and which have not begun."""
        return {key for (key,) in words_of(self.folder / "published")} - self.begun().keys()

    def begun(self, *, file: str = "ran") -> dict[str, list[tuple[str, float]]]:
        """Of each key, in which workers and when its task began."""
        found = defaultdict(list)
        for key, worker, _, at in words_of(self.folder / file):
            found[key].append((worker, float(at)))
        return found

    def stop(self) -> None:
        """Kills all that runs."""
        for process in self.others.values():
            kill_group(process)
        for fleet in self.places:
            fleet.__exit__()

    # ------------------------------------------------------------ what became of it

    def ended(self) -> dict[str, Any]:
        """Waits until all has run, ends the workers, and gives the figures."""
        never = self.settle(quiet_seconds=20)
        for fleet in self.places:
            self.kills += fleet.kills
            fleet.end()
        runs, twice, counts = self.begun(), self.unexplained(), self.queue.count()
        for key in sorted(self.unseen())[:10]:
            print("never begun:", key)
        for key, at in list(twice.items())[:10]:
            print("twice:", key, at)
        for dead in self.queue.list(Place.DEAD, limit=10):
            print("dead:", dead.id, dead.reason)
        client: Any = self.queue.client
        lists = sum(client.llen(key) for key in client.keys(f"{QUEUE}*") if client.type(key) == b"list")
        return {
            "kills": len(self.kills),
            "published": len(words_of(self.folder / "published")),
            "periodic": sum(key.startswith("tick:") for key in runs),
            "by the others": sum(release != NEW for _, _, release, _ in words_of(self.folder / "ran")),
            "never begun": never,
            "dead": counts.dead,
            "left in Redis": counts.waiting + counts.ready + counts.leased + counts.parked,
            "left with kombu": int(lists + client.hlen("unacked")),
            "again after a kill": sum(len(at) > 1 for at in runs.values()) - len(twice),
            "twice without a kill": len(twice),
        }

    def unexplained(self) -> dict[str, list[tuple[str, float]]]:
        """What began twice although no worker was killed that had begun it, or what published it.

        A worker that is killed before it acknowledges a task has it run again, with all that the task publishes: its
        retry, and the next of its chain.
        """
        runs, tried, killed = self.begun(), self.begun(file="tried"), dict(self.kills)

        def was_killed(key: str) -> bool:
            own = sorted(runs.get(key, []), key=lambda one: one[1])[:-1] + tried.get(key, [])
            rest, _, number = key.rpartition("-")
            numbers = range(1, int(number)) if "chain" in rest else ()
            earlier = [before for one in numbers for before in runs.get(f"{rest}-{one}", [])]
            return any(killed.get(name, 0) >= at for name, at in own + earlier)

        return {key: at for key, at in runs.items() if len(at) > 1 and not was_killed(key)}


def release(shop: Shop) -> dict[str, Any]:
    """To this release one by one, with both kinds of publishers all the time; then back."""
    shop.begin(OLD)
    shop.publisher(OLD)
    shop.publisher(NEW)
    shop.beat("beat", OLD)
    shop.under_kills()
    shop.end("beat")  # before the first of those that share a schedule
    for place in range(len(CREW)):
        shop.replace(place, NEW)
        shop.beat(f"beat{place}", NEW)
        shop.under_kills()
    shop.end(*(f"beat{place}" for place in range(len(CREW))))
    for place in range(len(CREW)):
        shop.replace(place, OLD)
        shop.under_kills()
    shop.end(f"from-{OLD}", f"from-{NEW}")
    shop.act("--lift")
    return shop.ended()


def kombu(shop: Shop) -> dict[str, Any]:
    """Over to DelayHub one by one; all stop, one of them by kill -9; and back."""
    shop.begin(KOMBU)
    shop.publisher(KOMBU)
    shop.beat("beat", KOMBU)
    shop.under_kills()
    shop.end("beat")
    for place in range(len(CREW)):
        shop.replace(place, NEW)
        shop.beat(f"beat{place}", NEW)
        if not place:
            shop.publisher(NEW)
        shop.under_kills()
        shop.act("--import-ready")
    shop.end(f"from-{KOMBU}")
    shop.act("--import-ready")
    shop.act("--import")
    shop.under_kills(steps=2)
    shop.end(*(f"beat{place}" for place in range(len(CREW))), f"from-{NEW}")
    killed = shop.places.pop()
    kill_group(killed.alive[0])
    shop.kills += [*killed.kills, (killed.names[0], time.time())]  # noqa: TID251  compared with what the tasks wrote
    for fleet in shop.places:
        shop.kills += fleet.kills
        fleet.end()
    parked = shop.queue.count().parked

    def is_moved() -> bool:
        shop.act("--export")
        return not any(shop.queue.count())

    is_soon(is_moved, within_seconds=60)
    shop.begin(KOMBU)
    shop.publisher(KOMBU)
    time.sleep(shop.step)
    shop.end(f"from-{KOMBU}")
    found = {"parked before moving back": parked, **shop.ended()}
    for way in ("over", "back"):
        found[f"moved {way}"] = sum(int(words[1]) for words in words_of(shop.folder / "moved") if words[0] == way)
    return found


#: By their names; with what each proves nothing without.
RUNS: dict[str, tuple[Callable[[Shop], dict[str, Any]], tuple[str, ...]]] = {
    "release": (release, ()),
    "kombu": (kombu, ("parked before moving back",)),
}


def main(given: argparse.Namespace) -> Result:
    runs = {}
    with tempfile.TemporaryDirectory() as temporary:
        folder = given.keep or Path(temporary)
        folder.mkdir(exist_ok=True)
        trees = {OLD: tree_of(given.ref, folder / "earlier-release"), NEW: ROOT, KOMBU: ROOT}
        for name in given.only:
            with RedisServer(append_only=False) as server, server.client() as client:
                shop = Shop(folder / name, trees, DelayQueue(client, QUEUE), server.port, given)
                try:
                    found = RUNS[name][0](shop)
                finally:
                    shop.stop()
            some = ("kills", "published", "periodic", "by the others", *RUNS[name][1])
            runs[name] = found, judged(found, none=WRONG, some=some)
    return Result.of(runs)


OPTIONS = [
    option("--seconds", 48.0, "how long each run publishes"),
    option("--kill-every", 4.0, "seconds between kills"),
    option("--pause", 0.04, "seconds between publishes"),
    option("--keep", type=Path, help="a folder for the logs, which stays"),
    option("--ref", last_release(), "the commit of the other release"),
    option("--only", list(RUNS), "what is replaced", nargs="*", choices=list(RUNS)),
]
